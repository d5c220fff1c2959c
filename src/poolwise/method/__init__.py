"""The paper, stage by stage: descriptors, whitening, dictionary, encoders, pooling, statistics, selection, projection.

`layer.Layer` is what a fit learns, and its `features` is the method in a dozen lines; `learning.learn` runs the stages in their
order; `extraction` computes a layer's features fast.
"""

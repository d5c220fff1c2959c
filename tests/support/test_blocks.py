from poolwise.support.blocks import spans


def test_spans_cover_everything_once():
    assert [i for s in spans(10, 3) for i in range(10)[s]] == list(range(10))
    assert spans(0, 3) == []


def test_only_the_last_span_is_shorter():
    assert [s.stop - s.start for s in spans(10, 3)] == [3, 3, 3, 1]
    assert [s.stop - s.start for s in spans(9, 3)] == [3, 3, 3]

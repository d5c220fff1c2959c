"""`poolwise reproduce`: the paper's tables and figures on the real data. One file a table or figure; `catalogue` lists them."""

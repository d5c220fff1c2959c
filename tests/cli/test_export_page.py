"""`poolwise export MODEL -o page.html`."""

import json


def test_it_writes_a_page(poolwise, made, tmp_path):
    done = poolwise("export", made.model, "-o", tmp_path / "page.html", "--json", "--quiet")
    assert (done.code, done.err) == (0, "")
    result = json.loads(done.out)
    page = tmp_path / "page.html"
    assert result == {"output": str(page), "bytes": page.stat().st_size, "classifier": True}
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>model</h1>" in html
    assert str(made.home) not in html
    assert '"crop":true' in html


def test_pictures_are_cut_as_those_of_the_fit_were(poolwise, made, tmp_path):
    assert poolwise("export", made.resized, "-o", tmp_path / "a.html", "--title", "Greys <b>").code == 0
    html = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert '"shape":[24,20,1]' in html
    assert '"crop":true' in html
    assert "<h1>Greys &lt;b&gt;</h1>" in html
    squeezed = tmp_path / "squeezed.safetensors"
    quick = ("--codes", "4", "--candidates", "none", "--patches", "2000", "--max-iter", "2", "--grid", "1", "--quiet")
    assert poolwise("fit", made.train, "-o", squeezed, "--resize", "16x20", *quick).code == 0
    assert poolwise("export", squeezed, "-o", tmp_path / "b.html").code == 0
    assert '"crop":false' in (tmp_path / "b.html").read_text(encoding="utf-8")


def test_features_alone(poolwise, made, tmp_path):
    done = poolwise("export", made.features, "-o", tmp_path / "page.html")
    assert done.code == 0
    assert done.out == f"{tmp_path / 'page.html'}: 0.1 MB; open it in a browser\n"
    assert '"classes":null' in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_names_that_are_none(poolwise, made, tmp_path):
    done = poolwise("export", made.model, "-o", tmp_path / "page.txt")
    assert done.code == 2
    assert "does not end in .onnx or .html or .htm" in done.err
    assert poolwise("export", made.home / "none.safetensors", "-o", tmp_path / "page.html").code == 3
    assert poolwise("export", made.model, "-o", made.home / "none" / "page.html").code == 2

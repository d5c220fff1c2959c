from PIL import Image

from poolwise.report.story import Chapter, write_story


def test_sections_tables_and_pictures_are_in_one_file(tmp_path):
    Image.new("RGB", (2, 2)).save(tmp_path / "a.png")
    text = "One **bold** word & <script>alert(1)</script>\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n![It](a.png)\n![Gone](b.png)"
    chapters = [
        Chapter("First <b>", text, {"a.png": (tmp_path / "a.png").read_bytes()}),
        Chapter("Second", "[x](javascript:y)"),
    ]
    write_story(tmp_path / "s.html", "A & B", chapters)
    html = (tmp_path / "s.html").read_text(encoding="utf-8")
    assert "<strong>bold</strong>" in html
    assert "<td>1</td>" in html
    assert '<img src="data:image/png;base64,' in html
    assert "<em>Gone</em>" in html
    assert "<script" not in html
    assert 'href="javascript' not in html
    assert "First &lt;b&gt;" in html
    assert "A &amp; B" in html

import csv
import io


def column(page, table, place):
    cells = page.locator(f"#{table} tbody tr:visible > :nth-child({place})")
    return cells.all_text_contents()


def test_numbers_sort_as_numbers_and_gaps_come_last(page):
    button = page.locator("#gaps thead button", has_text="parameters")
    before = column(page, "gaps", 4)
    button.click()
    assert column(page, "gaps", 4) == ["98", "807,431", "1,278,631"]
    assert page.locator("#gaps th[aria-sort=ascending]").inner_text().startswith("parameters")
    button.click()
    assert column(page, "gaps", 4) == ["1,278,631", "807,431", "98"]
    button.click()
    assert column(page, "gaps", 4) == before
    assert (
        page.locator("#gaps th[aria-sort=ascending], #gaps th[aria-sort=descending]").count() == 0
    )

    lead = page.locator("#overview thead button", has_text="lead")
    for first in ("\N{MINUS SIGN}0.50", "12.25"):
        lead.click()
        values = column(page, "overview", 5)
        assert values[0] == first
        assert set(values[-9:]) == {"\N{EN DASH}"}


def test_intervals_sort_by_their_estimate(page):
    page.locator("#gaps thead button", has_text="difference").click()
    assert column(page, "gaps", 1) == ["cnn - swin", "cnn - vit", "swin - vit"]


def test_sorting_by_keyboard(page):
    page.locator("#gaps thead button").first.focus()
    page.keyboard.press("Enter")
    assert column(page, "gaps", 1) == ["cnn - swin", "cnn - vit", "swin - vit"]


def test_words_filter_rows(page):
    page.locator("#overview input").fill("VIT 60")
    assert set(column(page, "overview", 1)) == {"vit"}
    assert column(page, "overview", 2) == ["60 %"] * 3
    assert page.locator("#overview output").inner_text() == "3 of 27 rows"
    page.locator("#overview input").fill("")
    assert len(column(page, "overview", 1)) == 27


def test_models_are_hidden_everywhere(page):
    chip = page.locator(".models .chip", has_text="cnn")
    chip.click()
    assert chip.get_attribute("aria-pressed") == "false"
    assert set(column(page, "overview", 1)) == {"vit", "swin"}
    assert column(page, "gaps", 1) == ["swin - vit"]
    assert page.locator(".plot:visible h3").all_inner_texts() == [
        "vit 77 % right",
        "swin 71 % right",
    ]
    assert page.locator("#focus-cnn").is_hidden()
    chip.click()
    assert page.locator("#focus-cnn").is_visible()
    assert page.locator(".plot:visible").count() == 3


def test_a_table_is_copied_as_csv_with_full_numbers(page):
    page.locator("#overview input").fill("swin 100")
    page.locator("#overview").get_by_role("button", name="as CSV").click()
    page.get_by_text("Copied Table 1 as CSV").wait_for()
    head, *rows = csv.reader(io.StringIO(page.evaluate("navigator.clipboard.readText()")))
    assert head == ["model", "data", "seed", "accuracy", "lead"]
    assert [row[:3] for row in rows] == [["swin", "100 %", str(seed)] for seed in range(3)]
    assert [row[4] for row in rows] == ["-0.5", "", "12.25"]
    assert all(len(row[3]) > 10 for row in rows)


def test_a_table_is_copied_as_latex(page):
    page.locator("#gaps").get_by_role("button", name="as LaTeX").click()
    page.get_by_text("Copied Table 3 as LaTeX").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    assert "\\begin{tabular}{lrrr}\n    \\toprule\n    pair & difference & p & parameters" in text
    assert "    cnn - swin & $-$1.5 [$-$3.0, 0.2] & 0.210 & 807,431 \\\\\n" in text
    assert "\\caption{Differences.}\n  \\label{tab:gaps}" in text


def test_a_long_table_scrolls_under_its_head_until_all_is_shown(page):
    box = page.locator("#overview .box")
    button = page.get_by_role("button", name="Show all 27 rows")
    assert box.evaluate("box => box.scrollHeight > box.clientHeight")
    box.evaluate("box => box.scrollTo(0, 200)")
    places = ("#overview .box", "#overview thead th >> nth=0")
    tops = [page.locator(place).bounding_box()["y"] for place in places]
    assert abs(tops[1] - tops[0]) < 3
    button.click()
    assert box.evaluate("box => box.scrollHeight <= box.clientHeight")
    fewer = page.get_by_role("button", name="Show fewer rows")
    assert fewer.get_attribute("aria-expanded") == "true"

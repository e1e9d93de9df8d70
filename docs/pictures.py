"""Make docs/images/policy.png and page.png: run the demo, and open its page in Chromium.

examples/follow_a_city.py draws stream.png, and examples/backbone.py draws backbone.png.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import privroute as pr
from privroute.cli.demo import demo
from privroute.serve.report import report_html

IMAGES = Path(__file__).with_name("images")
ORIGIN, DESTINATION = 21, 17  # a pair with two routes


def main() -> None:
    """Write both pictures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        demo(folder)
        shutil.copy(folder / "policy.png", IMAGES)
        report = folder / "report.html"
        report.write_text(report_html(pr.load_release(folder / "release")), encoding="utf-8")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            window = browser.new_page(
                viewport={"width": 1280, "height": 740}, device_scale_factor=1.5, reduced_motion="reduce"
            )
            window.goto(f"{report.as_uri()}#origin={ORIGIN}&destination={DESTINATION}")
            window.wait_for_selector(".choice")
            window.screenshot(path=IMAGES / "page.png")
            browser.close()


if __name__ == "__main__":
    main()

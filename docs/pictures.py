"""Make docs/images/policy.png and page.png anew: run the demo, and open its page in Chromium.

stream.png is drawn by examples/follow_a_city.py, backbone.png by examples/backbone.py.

    python docs/pictures.py [chromium]
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import privroute as pr
from privroute.serve.report import report_html

IMAGES = Path(__file__).with_name("images")
ORIGIN, DESTINATION = 21, 17  # a pair with two routes
WINDOW = {"width": 1280, "height": 740}


def main(chromium: str | None) -> None:
    """Write both pictures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([Path(sys.executable).with_name("privroute"), "demo", "--out", folder], check=True)
        shutil.copy(folder / "policy.png", IMAGES)
        report = folder / "report.html"
        report.write_text(report_html(pr.load_release(folder / "release")), encoding="utf-8")
        with sync_playwright() as started:
            browser = started.chromium.launch(executable_path=chromium or shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport=WINDOW, reduced_motion="reduce", device_scale_factor=1.5)
            page.goto(f"{report.as_uri()}#origin={ORIGIN}&destination={DESTINATION}")
            page.wait_for_selector(".choice")
            page.screenshot(path=IMAGES / "page.png")
            browser.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)

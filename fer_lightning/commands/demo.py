"""``fer-lightning demo``: a page on this machine where models answer about any face."""

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fer_lightning.commands.checkpoints import (
    add_checkpoints,
    load_checkpoints,
    load_shipped_and_newest,
)
from fer_lightning.commands.dashboard import interrupt
from fer_lightning.commands.options import Options
from fer_lightning.demo import page
from fer_lightning.errors import UserError

HOST, PORT, LARGEST_PORT = "127.0.0.1", 7860, 65535
TRIED = 50  # ports from PORT on, where none is given
MOST = 3  # newest runs that are shown beside our own model where no checkpoint is given
UPLOAD = "64mb"  # the largest file
REMOVE = "import shutil, sys; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"


def parser() -> argparse.ArgumentParser:
    """Return the command's options.

    >>> parser().parse_args(["--port", "7000"]).port
    7000
    """
    options = Options(prog="fer-lightning demo", description=__doc__)
    add_checkpoints(options, f"all shipped ones, and the {MOST} newest runs in ./runs")
    options.add_argument("--port", type=int, help=f"{PORT} or the next free one without it")
    options.add_argument(
        "--share-on",
        metavar="ADDRESS",
        default=HOST,
        help=f"let other machines in: an address of this one, such as 0.0.0.0 ({HOST}: none)",
    )
    return options


def main(argv: list[str]) -> int:
    """Start the page and stay until Ctrl-C or SIGTERM; nothing that was uploaded remains."""
    args = parser().parse_args(argv)
    port = free_port(args.share_on, args.port)
    if find_spec("gradio") is None:
        raise UserError(
            "expected gradio, which makes the page, but it is not installed; "
            "pip install 'fer-lightning[demo]'"
        )
    given = args.checkpoint
    checkpoints = load_checkpoints(given) if given else load_shipped_and_newest(MOST)
    if not given:
        own = [one.name for one in checkpoints if one.is_shipped]
        runs = [one.name for one in checkpoints if not one.is_shipped]
        beside = f", beside the newest runs ({', '.join(runs)})" if runs else ""
        print(f"No checkpoint was given: {', '.join(own)} answer, of this package{beside}")
    if args.share_on != HOST:
        print(f"Everybody who reaches {args.share_on}:{port} can use this page")
    signal.signal(signal.SIGTERM, interrupt)
    try:
        place = passing_folder()
        prepare(place)
        blocks = page.build(checkpoints, page.write_examples(place))
        launch(blocks, args.share_on, port)
        print(f"Demo: http://{args.share_on}:{port}   (Ctrl-C ends it)", flush=True)
        while True:
            time.sleep(1)
    except KeyboardInterrupt:
        # Not `return`: gradio's threads may still compute, and Python's end would crash.
        os._exit(0)


def passing_folder() -> Path:
    """Make a folder that is removed when this process has ended, in whatever way.

    Another process waits for that: gradio's threads go on writing while this one ends, and a killed
    process removes nothing.
    """
    place = tempfile.mkdtemp(prefix="fer-lightning-demo-")
    ending, _ = os.pipe()  # the system closes the other end when this process ends
    subprocess.Popen(
        [sys.executable, "-c", REMOVE, place],
        stdin=ending,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a Ctrl-C is not for it
    )
    os.close(ending)
    return Path(place)


def prepare(place: Path) -> None:
    """Keep gradio's files in a folder of ours, and keep it from telling anybody anything."""
    os.environ["GRADIO_TEMP_DIR"] = str(place)
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"


def launch(blocks: Any, host: str, port: int) -> None:
    """Let gradio serve the page in a thread; it asks nobody but this server for anything."""
    import gradio as gr

    theme = gr.themes.Base(
        font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]
    )
    blocks.launch(
        server_name=host,
        server_port=port,
        share=False,
        quiet=True,
        prevent_thread_lock=True,
        footer_links=[],
        run_history=False,  # faces would be kept in the browser
        max_file_size=UPLOAD,
        enable_monitoring=False,
        ssr_mode=False,
        mcp_server=False,
        pwa=False,
        theme=theme,
        css_paths=Path(page.__file__).with_name("page.css"),
    )


def free_port(host: str, port: int | None) -> int:
    """Return a port that nobody uses yet: the given one, or the first from 7860 on.

    Raises:
        UserError: it is taken, it is none, or the address is not one of this machine's.
    """
    if port is not None and not 1 <= port <= LARGEST_PORT:
        raise UserError(f"expected a port from 1 to {LARGEST_PORT} but got {port}")
    why = ""
    for candidate in [port] if port is not None else range(PORT, PORT + TRIED):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((host, candidate))
                return candidate
            except (OSError, UnicodeError) as error:
                why = getattr(error, "strerror", None) or str(error)
    raise UserError(
        f"expected port {port or f'{PORT} to {PORT + TRIED - 1}'} of {host} to be free but it "
        f"cannot be used ({why}); choose another --port, or leave it out"
    )

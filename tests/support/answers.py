"""Runs a program on a terminal and types an answer at each question:  answers.py 'FIRST|SECOND' PROGRAM ARGUMENT…

A question ends in `]: `. The answer `^C` interrupts, `^D` ends the input, and `\\xff` is no UTF-8. Prints what stood on the screen; exits with the program's code.
"""

import os
import pty
import sys

KEYS = {"^C": b"\x03", "^D": b"\x04", "\\xff": b"\xff\n"}

answers = sys.argv[1].split("|")
process, terminal = pty.fork()
if process == 0:
    os.execv(sys.argv[2], sys.argv[2:])
screen = b""
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    screen += piece
    if screen.endswith(b"]: ") and answers:
        answer = answers.pop(0)
        os.write(terminal, KEYS.get(answer, answer.encode() + b"\n"))
_, status = os.waitpid(process, 0)
sys.stdout.write(screen.decode(errors="replace").replace("\r\n", "\n"))
if answers:
    sys.stderr.write(f"nobody asked for {answers}\n")
sys.exit(os.waitstatus_to_exitcode(status))

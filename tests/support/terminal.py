"""Runs a command on a pseudo-terminal of the given width and prints every line that stood on its screen.

terminal.py COLUMNS COMMAND [ARGUMENT…]

Knows what the program's progress uses: carriage return, line feed, cursor up and down, erase line and screen. A
line that a terminal would wrap begins with WIDE.
"""

import fcntl
import os
import pty
import re
import struct
import sys
import termios

ROWS = 40


def run(columns, command):
    process, terminal = pty.fork()
    if process == 0:
        # Before the command starts: it would otherwise ask for a width that nobody has set yet.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        os.execv(command[0], command)
    output = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        output += piece
    os.waitpid(process, 0)
    return output.decode("utf-8")


def replay(text):
    lines, row, column = [""], 0, 0
    widest = 0
    for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
        if part == "\r":
            column = 0
        elif part == "\n":
            row, column = row + 1, 0
            while row >= len(lines):
                lines.append("")
        elif part.startswith("\x1b["):
            count = int(re.sub(r"[^0-9]", "", part.split(";")[0]) or 1)
            if part.endswith("A"):
                row = max(0, row - count)
            elif part.endswith("B"):
                row += count
                while row >= len(lines):
                    lines.append("")
            elif part.endswith("K"):
                lines[row] = lines[row][:column] if part in ("\x1b[K", "\x1b[0K") else ""
            elif part.endswith("J"):
                lines[row] = lines[row][:column]
                del lines[row + 1 :]
        else:
            line = lines[row].ljust(column)
            lines[row] = line[:column] + part + line[column + len(part) :]
            column += len(part)
            widest = max(widest, column)
    return lines, widest


def main():
    columns = int(sys.argv[1])
    lines, widest = replay(run(columns, sys.argv[2:]))
    while lines and not lines[-1].strip():
        lines.pop()
    for line in lines:
        print(("WIDE " if len(line.rstrip()) > columns else "") + line.rstrip())
    # What was overwritten counts too: a wide line of a progress bar leaves its rest on the screen.
    if os.environ.get("TERMINAL_WIDEST"):
        print(f"widest: {widest}")


main()

"""Types lines into a bash on a terminal, each with a tab at its end:  complete.py SETUP LINE…

SETUP is a command that comes first. Prints each line as the completion left it.
"""

import os
import pty
import re
import sys

PROMPT = "READY> "


def read_to_prompt(terminal, printed=""):
    screen = ""
    while not (found := re.search(printed + re.escape(PROMPT) + "$", screen)):
        screen += os.read(terminal, 4096).decode()
    return found


process, terminal = pty.fork()
if process == 0:
    environment = {**os.environ, "TERM": "dumb", "PS1": PROMPT}
    os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], environment)
read_to_prompt(terminal)
os.write(terminal, sys.argv[1].encode() + b"\n")
read_to_prompt(terminal)
for line in sys.argv[2:]:
    # Ctrl-A goes to the begin of the line.
    os.write(terminal, line.encode() + b"\t\x01echo LINE=\n")
    print(read_to_prompt(terminal, r"\nLINE=(.*?)\r\n")[1])
os.write(terminal, b"exit\n")
os.waitpid(process, 0)

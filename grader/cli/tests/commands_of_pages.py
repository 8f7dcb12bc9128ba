#!/usr/bin/env python3
"""Runs each command that a page of a hand-out shows: commands_of_pages.py [PAGE …]

Called in a hand-out that is configured and built; its exercises may be as handed out or solved. A
command is a line of an indented or fenced block, or `quoted` text, that begins with a program of the
workbook, CMake or a tool of others. It may fall short (exit code 1), or say that a GPU, a cluster or a
program of others is missing; but it must be understood, and build/bin must hold it.
"""
import os
import pathlib
import re
import subprocess
import sys

# What a page writes for something of the reader's, and a word that fits there.
WORDS = {'build/bin/NAME': 'build/bin/m3', 'NAME': 'fused-gemm', 'STAGE': 'fused-gemm', '--stage …': '--stage fused-gemm', '--network NAME': '--network fa18',
         'FILE': 'build/page.json', '--solution FILE': '--solution milestones/m2_gpu_baseline/conv_forward.cu',
         'PROGRAM …': 'build/bin/m1 1', 'cpu-new-forward.cc': 'milestones/m1_cpu_baseline/conv_forward.cpp',
         'm3/req_0/m3-forward.cu': 'milestones/m2_gpu_baseline/conv_forward.cu',
         'm3-forward.cu': 'milestones/m2_gpu_baseline/conv_forward.cu',
         'new-forward.cu': 'milestones/m2_gpu_baseline/conv_forward.cu',
         'my_program.cu': 'milestones/m2_gpu_baseline/puzzles/vector_add.cu',
         # Emulated, ten thousand images take a quarter of an hour.
         ' 10000': ' 20', ' 1000': ' 20', 'grader check m1': 'grader check m1 --batches 20',
         'grader check m2': 'grader check m2 --batches 20', 'grader check m3': 'grader check m3 --batches 20',
         'grader check m4': 'grader check m4 --batches 20'}
TOOLS = ('cmake', 'cuobjdump', 'perf', 'valgrind', 'cg_annotate', 'gdb', 'ncu')
# These change more than the hand-out, do not end, or are of others and may be missing.
LEFT_OUT = ('common/setup/lab', 'build/bin/grader submit', 'build/bin/grader watch', 'build/bin/grader job',
            'perf', 'valgrind', 'cg_annotate', 'gdb', 'ncu', 'cuobjdump')
MISSING = ('GPU', 'cluster', 'squeue', 'not found', 'No data', 'There is no file', 'does not exist', 'no such file',
           'source files; there is no', 'cannot be read',
           # What somebody at a terminal is asked for, or has said before.
           'The prediction needs', 'You predicted nothing')


def is_command(line):
    words = [each for each in line.split() if not re.fullmatch(r'[A-Z_0-9]+=\S*', each)]
    is_own = bool(words) and re.match(r'(build/(\w+/)?bin|common/setup)/[\w-]+$', words[0])
    return bool(is_own) or len(words) > 1 and words[0] in TOOLS


def commands_of(text):
    """Each command of a page once, without its comment."""
    found, is_fenced, before = [], False, ''
    for line in text.replace('\\\n', ' ').split('\n'):
        is_fenced ^= line.startswith('```')
        in_block = is_fenced or line.startswith('    ') and (not before.strip() or before.startswith('    '))
        parts = [line.strip().removeprefix('- run: ')] if in_block else re.findall(r'`([^`]+)`', line)
        for part in parts:
            # Half of a quotation goes on in another line.
            if is_command(part) and part.count("'") % 2 == 0:
                found.append(' '.join(re.split(r'\s+#', part)[0].split()))
        before = line
    return list(dict.fromkeys(found))


def run(command):
    """Why the command is none that a reader can type; empty if it is."""
    for word, own in sorted(WORDS.items(), key=lambda each: -len(each[0])):
        command = command.replace(word, own)
    # A build only shows what it would do: that there is such a target.
    command = re.sub(r'(cmake --build[^&|]*)', r'\1 -- -n ', command)
    bare = re.sub(r'^([A-Z_0-9]+=\S* )*', '', command)
    program = bare.split()[0]
    if bare.startswith(LEFT_OUT) or '/' in program and program.split('/')[1] != 'bin':
        is_own = program.startswith(('build/bin/', 'common/'))
        return f'there is no {program}' if is_own and not os.access(program, os.X_OK) else ''
    if program.startswith('build/bin/') and not os.path.exists(program):
        # One that the page has built before: a target has its name.
        target = ['cmake', '--build', '--preset', 'lab', '--target', os.path.basename(program), '--', '-n']
        known = subprocess.run(target, capture_output=True, check=False).returncode == 0
        return '' if known else f'there is no {program}'
    done = subprocess.run(['timeout', '900', 'bash', '-c', command], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    may_lack = done.returncode in (2, 3) and any(word in done.stdout for word in MISSING)
    if done.returncode in (0, 1) or may_lack:
        return ''
    return f'ended with {done.returncode}: {done.stdout[-600:]}'


if __name__ == '__main__':
    if not pathlib.Path('build/bin/grader').exists():
        sys.exit('Call this in a hand-out that is built.')
    pages = sys.argv[1:] or sorted(map(str, [*pathlib.Path('.').glob('*.md'), *pathlib.Path('docs').rglob('*.md'),
                                             *pathlib.Path('milestones').glob('*/README.md')]))
    commands = {}
    for page in pages:
        for each in commands_of(pathlib.Path(page).read_text(encoding='utf-8')):
            commands.setdefault(each, page)
    wrong = 0
    for each, page in commands.items():
        if why := run(each):
            wrong += 1
            print(f'{page}: {each}\n    {why}', flush=True)
    print(f'{len(commands)} commands of {len(pages)} pages, {wrong} wrong')
    # Shortening the pages' forms must not empty this test.
    sys.exit(1 if wrong or len(sys.argv) < 2 and len(commands) < 100 else 0)

/**
 * Types the tutorials of docs/tutorials as a newcomer does: line by line, at a terminal, as an unprivileged user, each in an empty
 * directory. A health check that comes too early and a question that is not answered yet are typed again, as the pages say; any other
 * command that fails, and any file that is left at the end, is a fault of the page.
 * Usage, as root: node build/test/by-hand/tutorials.js PATH [NAME…], where PATH is the PATH of the newcomer, with `zoneplane`, `node`,
 * the tools of PostgreSQL, dig, curl and python3. Needs script and setpriv. Prints everything that the terminal shows.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';

const [path, ...chosen] = process.argv.slice(2);
if (!path) throw new Error('say the PATH of the newcomer');
const NOBODY = 65_534;
/** A command that has printed no prompt by then hangs. */
const LIMIT_MS = 300_000;
const TRIES = 60;
const PROMPT = /@@(\d+)@@ /;

/** The lines of the blocks of commands. */
const linesOf = (page: string): string[] =>
  [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, block]) => block!.trimEnd().split('\n'));

class Shell {
  readonly #process: ChildProcess;
  #shown = '';

  constructor(directory: string) {
    const as = ['--reuid', String(NOBODY), '--regid', String(NOBODY), '--clear-groups', '--'];
    const environment = { PATH: path!, HOME: directory, TERM: 'xterm', LANG: 'C.UTF-8', USER: 'newcomer' };
    const words = ['script', '--quiet', '--flush', '--command', 'bash --norc --noprofile -i', '/dev/null'];
    this.#process = spawn('setpriv', [...as, ...words], { cwd: directory, env: environment });
    const show = (octets: Buffer): void => {
      process.stdout.write(octets);
      this.#shown += octets.toString().replaceAll('\r', '');
    };
    this.#process.stdout!.on('data', show);
    this.#process.stderr!.on('data', show);
  }

  /** Types a line; returns its exit code and what was shown meanwhile. */
  async type(line: string): Promise<{ readonly code: number; readonly shown: string }> {
    this.#shown = '';
    this.#process.stdin!.write(`${line}\n`);
    const begin = performance.now();
    for (;;) {
      const code = PROMPT.exec(this.#shown)?.[1];
      if (code !== undefined) return { code: Number(code), shown: this.#shown };
      if (performance.now() - begin > LIMIT_MS) throw new Error(`no prompt after: ${line}`);
      await after(20);
    }
  }

  end(): void {
    this.#process.stdin!.end('exit\n');
  }
}

/** What was shown between the line that was typed and the prompt. */
const outputOf = (shown: string, line: string): string =>
  shown
    .slice(shown.indexOf(line) + line.length)
    .replace(PROMPT, '')
    .trim();

async function typeAgain(shell: Shell, line: string): Promise<number> {
  for (let i = 0; ; i++) {
    const { code, shown } = await shell.type(line);
    const isToo = /^zoneplane healthcheck/.test(line)
      ? code !== 0
      : /^dig .*\+short$/.test(line) && outputOf(shown, line) === '';
    if (!isToo || i === TRIES) return isToo ? 1 : code;
    await after(1000);
  }
}

async function follow(name: string): Promise<string[]> {
  const faults: string[] = [];
  const directory = mkdtempSync(join(tmpdir(), `tutorial-${name}-`));
  chownSync(directory, NOBODY, NOBODY);
  const shell = new Shell(directory);
  try {
    // A prompt that tells the exit code, and no marks around what is pasted.
    await shell.type("bind 'set enable-bracketed-paste off'; PS1='@@$?@@ '");
    for (const line of linesOf(readFileSync(join('docs', 'tutorials', `${name}.md`), 'utf8'))) {
      const code = await typeAgain(shell, line);
      if (code !== 0) faults.push(`${line}: exit code ${code}`);
    }
    const left = readdirSync(directory);
    if (left.length > 0) faults.push(`left at the end: ${left.join(', ')}`);
  } finally {
    shell.end();
    rmSync(directory, { recursive: true, force: true });
  }
  return faults.map((fault) => `${name}: ${fault}`);
}

const all = readdirSync(join('docs', 'tutorials')).map((file) => basename(file, '.md'));
const faults: string[] = [];
for (const name of chosen.length > 0 ? chosen : all) {
  const begin = performance.now();
  faults.push(...(await follow(name)));
  process.stdout.write(`\n=== ${name}: ${((performance.now() - begin) / 1000).toFixed(0)} s\n`);
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;

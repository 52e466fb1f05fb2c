/** What commands print: tables and colours on a terminal, JSON when asked for, progress on standard error. */

import { createRequire } from 'node:module';
import { createInterface } from 'node:readline/promises';
import { styleText } from 'node:util';
import { UserError } from '../base/errors.js';

/** The part of a standard stream that is used here. */
export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

export type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red';

export interface Progress {
  /** `share` of the whole is done, from 0 to 1; `label` is being worked on. */
  step(share: number, label: string): void;
  /** Removes the bar. */
  end(): void;
}

export interface Terminal {
  /** A line, or several, on standard output. */
  print(text: string): void;
  /** Text on standard output as it is. */
  write(text: string): void;
  /** A line, or several, on standard error. */
  complain(text: string): void;
  /** Text with a style where standard output shows it. */
  styled(style: Style, text: string): string;
  /** Rows below headers, columns aligned; `nothing` instead when there are no rows. */
  table(headers: readonly string[], rows: readonly (readonly string[])[], nothing: string): void;
  json(value: unknown): void;
  /** A bar on standard error if that is a terminal; otherwise silent. */
  progress(): Progress;
  /** What the program exits with; commands that found something wrong, or were interrupted, set it. */
  exitCode: 0 | 1 | 2 | 130;
}

export interface TerminalOptions {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function createTerminal({ stdout, stderr, environment }: TerminalOptions): Terminal {
  // A set and non-empty NO_COLOR turns colours off, whatever its value.
  const colours = stdout.isTTY === true && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb';
  const styled = (style: Style, text: string): string =>
    colours ? styleText(style, text, { validateStream: false }) : text;
  const print = (text: string): void => void stdout.write(`${showSteering(text)}\n`);
  const width = (stdout.isTTY && stdout.columns) || Number.POSITIVE_INFINITY;
  return {
    print,
    styled,
    write: (text) => void stdout.write(text),
    complain: (text) => void stderr.write(`${showSteering(text)}\n`),
    json: (value) => void stdout.write(`${JSON.stringify(value, undefined, 2)}\n`),
    table(headers, rows, nothing) {
      if (rows.length === 0) print(nothing);
      else for (const line of layOut(headers, rows, width, (header) => styled('bold', header))) print(line);
    },
    progress: () => (stderr.isTTY ? drawProgress(stderr) : { step: () => {}, end: () => {} }),
    exitCode: 0,
  };
}

const BETWEEN_COLUMNS = '  ';
/** In front of the lines of a row behind the first. */
const CONTINUED = '    ';
/** What the last column gets at least where it stays on the line of others; the terminal wraps what is longer. */
const ROOM_FOR_LAST = 20;

/**
 * Lines of a table; the last column is not padded. Where a row is wider than the terminal, all rows are broken between the same
 * columns, so that columns stay below their headers.
 */
function layOut(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
  emphasise: (header: string) => string,
): string[] {
  const clean = rows.map((row) => row.map(showControls));
  const widths = headers.map((header, column) =>
    clean.reduce((widest, row) => Math.max(widest, (row[column] ?? '').length), header.length),
  );
  const parts = breakColumns(widths, width);
  const lay = (cells: readonly string[]): string[] =>
    parts.map(([first, behind], part) => {
      const padded = cells
        .slice(first, behind)
        .map((cell, at) => (first + at === behind - 1 ? cell : cell.padEnd(widths[first + at]!)));
      return (part === 0 ? '' : CONTINUED) + padded.join(BETWEEN_COLUMNS);
    });
  return [...lay(headers).map(emphasise), ...clean.flatMap(lay)];
}

/** The columns of each line, as first and the one behind the last. A line has at least one. */
function breakColumns(widths: readonly number[], width: number): [number, number][] {
  const parts: [number, number][] = [];
  let used = 0;
  for (const [column, widest] of widths.entries()) {
    const own = column === widths.length - 1 ? Math.min(widest, ROOM_FOR_LAST) : widest;
    const last = parts.at(-1);
    const needed = used + BETWEEN_COLUMNS.length + own;
    if (last && needed <= width) {
      last[1] = column + 1;
      used = needed;
    } else {
      parts.push([column, column + 1]);
      used = (last ? CONTINUED.length : 0) + own;
    }
  }
  return parts;
}

/** Stored text must not be able to steer the terminal. */
export function showControls(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f]/g,
    (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}

/** The same for lines that may have breaks, tabs and styles of ours: colours steer nothing. */
function showSteering(text: string): string {
  const pieces = text.split(/(\u001b\[\d{1,2}m|[\t\n])/);
  return pieces.map((piece, index) => (index % 2 === 1 ? piece : showControls(piece))).join('');
}

function drawProgress(stream: OutputStream): Progress {
  // Loaded only where there is a bar: most commands have none, and all shall start at once.
  const { SingleBar } = createRequire(import.meta.url)('cli-progress') as typeof import('cli-progress');
  const bar = new SingleBar({
    format: '[{bar}] {percentage} % {label}',
    barsize: 30,
    barCompleteChar: '#',
    barIncompleteChar: '.',
    stream: stream as NodeJS.WritableStream,
    clearOnComplete: true,
    // The library cuts the line where it may wrap.
    linewrap: true,
  });
  return {
    step(share, label) {
      const payload = { label: showControls(label) };
      if (bar.isActive) bar.update(share, payload);
      else bar.start(1, share, payload);
    },
    end: () => bar.stop(),
  };
}

/**
 * Asks on the terminal for the name of what is affected. Throws a UserError that says `otherwise` when something else is typed.
 */
export async function confirmName(name: string, effect: string, otherwise: string): Promise<void> {
  await confirmTyped(name, `${effect} Type the name to go on: `, otherwise);
}

/** The same with `yes`, for what has no name. */
export async function confirmYes(effect: string, otherwise: string): Promise<void> {
  await confirmTyped('yes', `${effect} Type yes to go on: `, otherwise);
}

async function confirmTyped(wanted: string, question: string, otherwise: string): Promise<void> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const typed = await prompt.question(question);
  prompt.close();
  if (typed.trim() !== wanted) throw new UserError(otherwise);
}

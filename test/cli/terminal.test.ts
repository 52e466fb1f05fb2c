/** Tables, colours and the progress bar, for a terminal and for a pipe. */
import t from 'tap';
import { runCommandLine } from '../../src/cli/program.js';
import { createTerminal, type OutputStream } from '../../src/cli/terminal.js';

interface Captured extends OutputStream {
  text: string;
}

function capture(isTTY: boolean, columns?: number): Captured {
  const stream: Captured = { text: '', isTTY, columns, write: (piece) => void (stream.text += piece) };
  return stream;
}

t.test('tables are aligned, the last column is not padded', async (t) => {
  const stdout = capture(false);
  const terminal = createTerminal({ stdout, stderr: capture(false), environment: {} });
  terminal.table(
    ['name', 'ttl'],
    [
      ['www.example.com', '300'],
      ['a', 'auto'],
    ],
    'none',
  );
  t.equal(stdout.text, 'name             ttl\nwww.example.com  300\na                auto\n');
  stdout.text = '';
  terminal.table(['name'], [], 'There is nothing.');
  t.equal(stdout.text, 'There is nothing.\n');
});

t.test('a table that is wider than the terminal is broken between columns', async (t) => {
  const lay = (columns: number, isTTY = true): readonly string[] => {
    const stdout = capture(isTTY, columns);
    const rows = [
      ['a'.repeat(12), 'A', '192.0.2.1'],
      ['b', 'TXT', 'x'.repeat(60)],
    ];
    const terminal = createTerminal({ stdout, stderr: capture(false), environment: { NO_COLOR: '1' } });
    terminal.table(['name', 'type', 'content'], rows, 'none');
    return stdout.text.split('\n').slice(0, -1);
  };
  const wide = [
    'name          type  content',
    `${'a'.repeat(12)}  A     192.0.2.1`,
    `b             TXT   ${'x'.repeat(60)}`,
  ];
  t.same(lay(40), wide, 'the last column has room; the terminal wraps what is longer');
  t.same(lay(30, false), wide, 'not in a pipe');
  const broken = ['name          type', '    content', `${'a'.repeat(12)}  A`, '    192.0.2.1'];
  t.same(lay(30).slice(0, 4), broken);
  t.same(lay(5).slice(0, 3), ['name', '    type', '    content'], 'a line has one column at least');
});

t.test('help: where there is little room, descriptions stand below their terms', async (t) => {
  const help = async (columns: number, ...args: readonly string[]): Promise<string> => {
    const stdout = capture(true, columns);
    const line = { arguments: [...args, '--help'], program: '', environment: {}, stdout, stderr: capture(true) };
    t.equal(await runCommandLine(line), 0);
    return stdout.text;
  };
  t.match(await help(80), /\n {2}zone {12}import, check, transfer/, 'beside them in the overview');
  t.match(await help(40), /\n {2}zone\n {8}import, check, transfer, export,\n {8}list, create/);
  const record = await help(80, 'record');
  t.match(record, /\n {2}update \[options\] <zone> <id or name> \[data\.\.\.\]\n {8}change a record/);
  const long = record.split('\n').filter((line) => line.length > 80);
  t.same(long, [], 'no line is wider than the terminal');
});

t.test('stored text cannot steer the terminal', async (t) => {
  const stdout = capture(true);
  createTerminal({ stdout, stderr: capture(true), environment: { NO_COLOR: '1' } }).table(
    ['content'],
    [['\u001b[2Jgone\u009b']],
    '',
  );
  t.equal(stdout.text, 'content\n\\x1b[2Jgone\\x9b\n');
});

t.test('colours only on a terminal that wants them', async (t) => {
  const styled = (isTTY: boolean, environment: Record<string, string>): string =>
    createTerminal({ stdout: capture(isTTY), stderr: capture(isTTY), environment }).styled('bold', 'x');
  t.equal(styled(true, {}), '\u001b[1mx\u001b[22m');
  t.equal(styled(true, { NO_COLOR: '1' }), 'x');
  t.equal(styled(true, { NO_COLOR: '' }), '\u001b[1mx\u001b[22m', 'an empty NO_COLOR says nothing');
  t.equal(styled(true, { TERM: 'dumb' }), 'x');
  t.equal(styled(false, {}), 'x');
});

t.test('progress is drawn on a terminal only, in one line that is removed at the end', async (t) => {
  const stderr = capture(true, 60);
  const draw = (step: (progress: ReturnType<ReturnType<typeof createTerminal>['progress']>) => void): string => {
    stderr.text = '';
    const progress = createTerminal({ stdout: capture(false), stderr, environment: {} }).progress();
    step(progress);
    progress.end();
    return stderr.text;
  };
  t.match(
    draw((progress) => progress.step(0.25, 'a.zone\u001b[2J')),
    '[########......................] 25 % a.zone\\x1b[2J',
  );
  const long = draw((progress) => progress.step(0.5, 'x'.repeat(100)));
  t.match(long, /\[#{15}\.{15}\] 50 % x{22,24}\u001b/, 'cut where the line ends');
  t.ok(long.endsWith('\u001b[1G\u001b[2K'), 'nothing stays');
  const several = draw((progress) => {
    progress.step(0.5, 'a');
    progress.end();
    progress.step(0.75, 'b');
  });
  t.match(several, '75 % b', 'drawn again after a line in between');
  const silent = capture(false);
  const progress = createTerminal({ stdout: capture(false), stderr: silent, environment: {} }).progress();
  progress.step(0.25, 'x');
  progress.end();
  t.equal(silent.text, '');
});

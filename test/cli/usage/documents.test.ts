/** Commands in documents and in help exist as they are written: names, options, choices and numbers of arguments. */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CommanderError } from 'commander';
import t from 'tap';
import { Command } from '../../../src/cli/command.js';
import { addCommands } from '../../../src/cli/commands.js';
import { describe, readDescribed } from '../../../src/cli/operations/described.js';
import { createTerminal } from '../../../src/cli/terminal.js';

/** A command line as it is written, without the program; `isMention`: it may lack arguments, as in «see `zoneplane explain`». */
interface Written {
  readonly place: string;
  readonly words: readonly string[];
  readonly isMention: boolean;
}

/** Every command, with actions that do nothing. */
async function inertProgram(): Promise<Command> {
  const silent = { write: () => true };
  const terminal = createTerminal({ stdout: silent, stderr: silent, environment: {} });
  const context = { terminal, environment: {}, program: '', version: '0', isTerminal: false, width: 80 };
  const program = new Command('zoneplane').exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {} });
  await addCommands(program, context, ['list']);
  disarm(program);
  return program;
}

function disarm(command: Command): void {
  // One with arguments of its own does something, also where others are below it.
  if (command.commands.length === 0 || command.registeredArguments.length > 0) command.action(() => {});
  for (const child of command.commands) disarm(child);
}

/** The words of the first command of a line, as a shell splits it. */
function split(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (const char of line) {
    if (quote !== '') {
      if (char === quote) quote = '';
      else word = (word ?? '') + char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= '';
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (/[|><&;)]/.test(char) || (char === '#' && word === undefined)) break;
    else word = (word ?? '') + char;
  }
  if (word !== undefined) words.push(word);
  return words;
}

/** `zoneplane` as a word of its own; it is also the name of users and databases. */
const COMMAND = /^(?!createdb|createuser)(?:.*?[\s(`/])??zoneplane ((?:-|[a-z]).*)$/;

/** The options that a document has put into a variable (`export ONE="--data-dir one"`), where it uses that. */
function withVariables(text: string): string {
  const variables = [...text.matchAll(/^export ([A-Z]+)="(--[^"]*)"$/gm)];
  return variables.reduce((all, [, name, options]) => all.replace(new RegExp(`\\$${name}\\b`, 'g'), options!), text);
}

function commandsOf(file: string, text: string): Written[] {
  const found: Written[] = [];
  let isFenced = false;
  const lines = withVariables(text.replace(/\\\n\s*/g, ' ')).split('\n');
  for (const [index, line] of lines.entries()) {
    const place = `${file}:${index + 1}`;
    if (/^\s*(?:> )?```/.test(line)) isFenced = !isFenced;
    else if (isFenced) {
      const command = COMMAND.exec(line.split(/&&|;/).find((part) => COMMAND.test(part)) ?? '')?.[1];
      if (command !== undefined) found.push({ place, words: split(command), isMention: false });
    } else {
      for (const [, span] of line.matchAll(/`((?:npx )?zoneplane [^`]+)`/g)) {
        const command = COMMAND.exec(span!)![1]!;
        if (!command.includes('[')) found.push({ place, words: split(command), isMention: true });
      }
    }
  }
  return found;
}

/** What commander finds wrong with a command line; undefined when its action would run. */
async function faultOf(program: Command, { words, isMention }: Written): Promise<string | undefined> {
  try {
    await program.parseAsync([...words], { from: 'user' });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const isShort = /missingArgument|missingMandatory|\.help$/.test(error.code);
    return (isMention && isShort) || error.code === 'commander.helpDisplayed' ? undefined : error.message;
  }
}

const DOCUMENTS: readonly string[] = [
  ...['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md'],
  ...globSync('docs/**/*.md').sort(),
];

t.test('commands in documents', async (t) => {
  const program = await inertProgram();
  const texts = DOCUMENTS.map((name) => [name, readFileSync(name, 'utf8')] as const);
  const written = texts.flatMap(([name, text]) => commandsOf(name, text));
  t.ok(written.length > 100, `${written.length} commands`);
  for (const command of written) {
    // A picture of the processes, with what each of them is.
    if (/architecture\.md/.test(command.place) && !command.isMention) continue;
    t.equal(await faultOf(program, command), undefined, `${command.place}: zoneplane ${command.words.join(' ')}`);
  }
});

t.test('every link between documents leads to a page, and to a heading that is there', async (t) => {
  const texts = new Map(DOCUMENTS.map((name) => [name, readFileSync(name, 'utf8').replace(/^```[\s\S]*?^```/gm, '')]));
  let links = 0;
  for (const [name, text] of texts) {
    for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue;
      links++;
      const [path, anchor] = target!.split('#');
      const page = path === '' ? name : join(dirname(name), path!);
      t.ok(existsSync(page), `${name}: ${target}`);
      const there = texts.get(page);
      if (anchor !== undefined && there !== undefined) {
        t.ok(anchorsOf(there).has(anchor), `${name}: ${target} is a heading`);
      }
    }
  }
  t.ok(links > 100, `${links} links`);
  const index = texts.get('docs/README.md')!;
  for (const name of DOCUMENTS) {
    if (!name.startsWith('docs/') || name === 'docs/README.md') continue;
    t.match(index, `](${name.slice('docs/'.length)})`, `the index has ${name}`);
  }
});

/** The anchors of headings as GitHub makes them. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = [...text.matchAll(/^#{1,6} (.*)$/gm)].map(([, heading]) => heading!);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

t.test('examples of help', async (t) => {
  const program = await inertProgram();
  const texts = await helpTexts(program);
  const examples = texts.flatMap(([place, text]) =>
    [...text.matchAll(/^ {2}\$ (.*)$/gm)].map(([, line]) => ({ place, line: line! })),
  );
  t.ok(examples.length > 90, `${examples.length} examples`);
  for (const { place, line } of examples) {
    const command = COMMAND.exec(line)?.[1];
    const written = { place, words: split(command ?? ''), isMention: false };
    t.equal(await faultOf(program, written), undefined, `${place}: ${line}`);
  }
});

t.test('the description that the build wrote matches the commands', async (t) => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const [whole, ...commands] = readDescribed(version) ?? [];
  t.match(whole?.description, /nameserver/);
  const [, ...loaded] = describe(await inertProgram());
  t.strictSame(commands, JSON.parse(JSON.stringify(loaded)));
  t.ok(loaded.length > 100, `${loaded.length} commands`);
  t.equal(readDescribed('0.0.0'), undefined, 'the description of another version is not used');
});

/** «Is no member» for «is not a member» reads wrongly in English; «there is no member» does not. */
const ODD_NEGATION =
  /(?<!there )\b(?:is|are|was|were) no (?!longer|more|less|better|later|earlier|fewer|way|such)[a-z]|\bknows? no\b/i;

t.test('sentences of documents, messages and screens are negated as in English', async (t) => {
  const files = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
  for (const directory of ['docs', 'src', 'web']) {
    const found = readdirSync(directory, { recursive: true, encoding: 'utf8' });
    files.push(...found.filter((name) => /\.(?:md|tsx?)$/.test(name)).map((name) => join(directory, name)));
  }
  t.ok(files.length > 1000, `${files.length} files`);
  for (const file of files) {
    const odd = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => ODD_NEGATION.test(line));
    if (odd.length > 0) t.fail(`${file}: ${odd[0]!.trim()}`);
  }
});

/** The help of each command that does something, by its path. */
async function helpTexts(command: Command, path: readonly string[] = []): Promise<[string, string][]> {
  if (command.commands.length > 0) {
    const below = await Promise.all(command.commands.map((child) => helpTexts(child, [...path, child.name()])));
    return below.flat();
  }
  let text = '';
  command.configureOutput({ writeOut: (piece) => void (text += piece) });
  command.outputHelp();
  return [[path.join(' '), text]];
}

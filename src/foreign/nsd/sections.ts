/** nsd.conf as sections of attributes: `name: value …`, one after the other, whatever the lines are. */
import type { ConfigurationFiles, OpenedFile } from '../files.js';
import { faultAt, type Place } from '../place.js';

export interface Attribute {
  readonly name: string;
  readonly values: readonly string[];
  readonly place: Place;
}

export interface Section {
  readonly name: string;
  readonly attributes: readonly Attribute[];
  readonly place: Place;
}

const SECTIONS = new Set(['server', 'zone', 'pattern', 'key', 'tls-auth', 'remote-control', 'dnstap', 'verify', 'xdp']);
/** `name:`, perhaps with a value right behind it; addresses of IPv6 have digits or further colons in front of theirs. */
const NAME = /^([a-z][a-z0-9]*(?:-[a-z0-9]+)*):(.*)$/;
const MOST_ATTRIBUTES = 5_000_000;

interface Token {
  readonly text: string;
  readonly isQuoted: boolean;
  readonly place: Place;
}

/** All sections, those of included files in their place. Throws a UserError that names file and line. */
export function readSections(files: ConfigurationFiles): Section[] {
  const reading: Reading = { files, sections: [], count: 0 };
  files.readMain((opened) => readFile(reading, opened));
  return reading.sections;
}

interface Reading {
  readonly files: ConfigurationFiles;
  readonly sections: (Section & { readonly attributes: Attribute[] })[];
  count: number;
}

function readFile(reading: Reading, { file, text }: OpenedFile): void {
  const tokens = tokensOf(file, text);
  for (let at = 0; at < tokens.length; ) {
    const { text: name, isQuoted, place } = tokens[at++]!;
    if (isQuoted || !name.endsWith(':'))
      throw faultAt(place, `'${name.slice(0, 80)}' stands where the name of an attribute should`);
    const plain = name.slice(0, -1);
    if (SECTIONS.has(plain)) {
      reading.sections.push({ name: plain, attributes: [], place });
      continue;
    }
    const values: string[] = [];
    for (; at < tokens.length && (tokens[at]!.isQuoted || !isName(tokens[at]!.text)); at++)
      values.push(tokens[at]!.text);
    if (values.length === 0) throw faultAt(place, `${name} has no value`);
    if (plain === 'include') {
      if (values.length > 1) throw faultAt(place, 'include: takes one file');
      reading.files.include(reading.files.locate(values[0]!), place, (opened) => readFile(reading, opened));
      continue;
    }
    const section = reading.sections.at(-1);
    if (!section) throw faultAt(place, `${name} stands in front of all sections, such as server:`);
    if (++reading.count > MOST_ATTRIBUTES) throw faultAt(place, `there are more than ${MOST_ATTRIBUTES} attributes`);
    section.attributes.push({ name: plain, values, place });
  }
}

const isName = (text: string): boolean => text.endsWith(':') && NAME.test(text);

function tokensOf(file: string, text: string): Token[] {
  const tokens: Token[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const place = { file, line: index + 1 };
    for (let at = 0; at < line.length; ) {
      const char = line[at]!;
      if (char === '#') break;
      if (/\s/.test(char)) at++;
      else if (char === '"' || char === "'") {
        const end = line.indexOf(char, at + 1);
        if (end === -1) throw faultAt(place, 'the quoted text has no end');
        tokens.push({ text: line.slice(at + 1, end), isQuoted: true, place });
        at = end + 1;
      } else {
        const word = /^(?:\\.|[^\s"'\\])+/.exec(line.slice(at))?.[0] ?? char;
        pushWord(tokens, word, place);
        at += word.length;
      }
    }
  }
  return tokens;
}

/** `name:value` without a space is both. */
function pushWord(tokens: Token[], word: string, place: Place): void {
  const [, name, rest] = NAME.exec(word) ?? [];
  const isAddress = name !== undefined && /^[0-9a-f]{1,4}$/.test(name);
  if (name !== undefined && rest !== '' && !isAddress) {
    tokens.push({ text: `${name}:`, isQuoted: false, place }, { text: rest!, isQuoted: false, place });
  } else tokens.push({ text: word, isQuoted: false, place });
}

/** knot.conf: the subset of YAML that Knot reads, as sections with entries of named values. */
import { dirname } from 'node:path';
import type { ConfigurationFiles, OpenedFile } from '../files.js';
import { faultAt, type Place } from '../place.js';

export interface Item {
  readonly name: string;
  readonly values: readonly string[];
  readonly place: Place;
}

/** One entry of a section; sections without identifiers have one. */
export interface Entry {
  readonly section: string;
  readonly items: Item[];
  readonly place: Place;
}

const LINE = /^( *)(- +)?([a-z][a-z0-9-]*) *:(?: +(.*)|)$/;
const MOST_ITEMS = 5_000_000;

interface Reading {
  readonly files: ConfigurationFiles;
  readonly entries: Entry[];
  count: number;
}

/** All entries, those of included files in their place. Throws a UserError that names file and line. */
export function readEntries(files: ConfigurationFiles): Entry[] {
  const reading: Reading = { files, entries: [], count: 0 };
  files.readMain((opened) => readFile(reading, opened));
  return reading.entries;
}

function readFile(reading: Reading, { file, text }: OpenedFile): void {
  let section: string | undefined;
  let entry: Entry | undefined;
  for (const [index, raw] of text.split('\n').entries()) {
    const place = { file, line: index + 1 };
    const line = raw.replace(/\s+$/, '');
    if (/^\s*(#|$)/.test(line)) continue;
    if (line.includes('\t') && /^ *\t/.test(line)) throw faultAt(place, 'lines begin with spaces, not with tabs');
    const [, indent = '', dash, name, rest = ''] = LINE.exec(line) ?? [];
    if (name === undefined) throw faultAt(place, `'${line.trim().slice(0, 80)}' is not of the form name: value`);
    if (++reading.count > MOST_ITEMS) throw faultAt(place, `there are more than ${MOST_ITEMS} items`);
    const values = valuesOf(rest, place);
    if (indent === '' && !dash) {
      section = undefined;
      entry = undefined;
      if (name === 'include') include(reading, file, values, place);
      else if (name === 'clear') throw faultAt(place, 'clear: is not known here');
      else if (values.length > 0) throw faultAt(place, `the section ${name} has no value of its own`);
      else section = name;
      continue;
    }
    if (section === undefined) throw faultAt(place, `${name}: stands in no section`);
    if (dash || !entry) {
      entry = { section, items: [], place };
      reading.entries.push(entry);
    }
    entry.items.push({ name, values, place });
  }
}

/** A file or a pattern; relative ones begin where the file is that names them. */
function include(reading: Reading, from: string, [path, ...more]: readonly string[], place: Place): void {
  if (path === undefined || more.length > 0) throw faultAt(place, 'include: takes one file');
  reading.files.include(reading.files.locate(path, dirname(from)), place, (opened) => readFile(reading, opened));
}

/** `a`, `"a"`, or `[a, "b"]`, perhaps with a comment behind. */
function valuesOf(text: string, place: Place): string[] {
  const values: string[] = [];
  let rest = text.trim();
  const isList = rest.startsWith('[');
  if (isList) rest = rest.slice(1).trimStart();
  for (;;) {
    if (rest === '' || rest.startsWith('#')) {
      if (isList) throw faultAt(place, "the list has no ']' in its line");
      return values;
    }
    if (isList && rest.startsWith(']')) {
      if (!/^\]\s*(#.*)?$/.test(rest)) throw faultAt(place, "something stands behind the ']'");
      return values;
    }
    if (values.length > 0 && !isList) throw faultAt(place, 'there is more than one value; several stand in [ ]');
    const quoted = /^"((?:\\.|[^"\\])*)"/.exec(rest);
    const word = quoted ?? /^[^\s,[\]"#]+/.exec(rest) ?? (isList ? null : /^\S+/.exec(rest));
    if (!word) throw faultAt(place, `'${rest.slice(0, 40)}' is not a value`);
    values.push(quoted ? quoted[1]!.replaceAll(/\\(.)/g, '$1') : word[0]);
    rest = rest.slice(word[0].length).trimStart();
    if (isList && rest.startsWith(',')) rest = rest.slice(1).trimStart();
  }
}

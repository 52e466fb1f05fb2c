/** pdns.conf: lines of `name=value`, with the files of `include-dir`. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { explainFileFailure } from '../../base/file-failure.js';
import type { ConfigurationFiles, OpenedFile } from '../files.js';
import { faultAt, type Place } from '../place.js';

export interface Setting {
  readonly value: string;
  readonly place: Place;
}

export type SettingsByName = ReadonlyMap<string, Setting>;

/** The last value of each name; `name+=value` adds to the one before. */
export function readSettings(files: ConfigurationFiles): SettingsByName {
  const settings = new Map<string, Setting>();
  files.readMain((opened) => readFile(settings, opened));
  const included = settings.get('include-dir');
  if (!included || included.value === '') return settings;
  const directory = files.locate(included.value);
  for (const name of namesIn(directory, included.place)) {
    files.include(join(directory, name), included.place, (opened) => readFile(settings, opened));
  }
  return settings;
}

function namesIn(directory: string, place: Place): string[] {
  try {
    const names = readdirSync(directory);
    return names.filter((name) => name.endsWith('.conf') && !name.startsWith('.')).sort();
  } catch (error) {
    const known = explainFileFailure(error, directory);
    throw known instanceof Error ? faultAt(place, known.message) : known;
  }
}

function readFile(settings: Map<string, Setting>, { file, text }: OpenedFile): void {
  let begun = '';
  for (const [index, raw] of text.split('\n').entries()) {
    const place = { file, line: index + 1 };
    const line = begun + raw.replace(/(^|\s)#.*$/, '').trim();
    begun = line.endsWith('\\') ? line.slice(0, -1).trimEnd() : '';
    if (begun !== '' || line === '') continue;
    const [, name, more, value] = /^([a-z0-9][a-z0-9-]*)\s*(\+?)=\s*(.*)$/i.exec(line) ?? [];
    if (name === undefined) throw faultAt(place, `'${line.slice(0, 80)}' is not of the form name=value`);
    const known = settings.get(name);
    const isAdded = more === '+' && known !== undefined && known.value !== '';
    settings.set(name, { value: isAdded ? `${known.value}, ${value}` : value!, place });
  }
}

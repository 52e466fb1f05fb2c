/** The list of sums in a backup, which `sha256sum --check` reads. Every octet of it counts: it is read strictly. */
import { UserError } from '../base/errors.js';
import { BLOB_DIRECTORY } from '../bucket/blobs.js';

export interface Sums {
  /** SHA-256 in hexadecimal. */
  readonly database: string;
  /** By the names of bodies. */
  readonly bodies: ReadonlyMap<string, string>;
}

export interface NamedSums extends Sums {
  /** The name that the database file had. */
  readonly name: string;
}

export function printSums({ name, database, bodies }: NamedSums): string {
  const lines = [...bodies].map(([body, sum]) => `${sum}  ${name}.${BLOB_DIRECTORY}/${body.slice(0, 2)}/${body}\n`);
  return `${database}  ${name}\n${lines.toSorted().join('')}`;
}

const LINE = new RegExp(`^([0-9a-f]{64})  (.+?)(?:\\.${BLOB_DIRECTORY}/([0-9a-f]{2})/([0-9a-f]{32}))?$`);

/** `file`: where they are. Throws a UserError for anything that {@link printSums} does not print. */
export function parseSums(text: string, file: string): NamedSums {
  const lines = text.split('\n');
  if (lines.pop() !== '') throw damaged(file, lines.length + 1);
  let first: { readonly name: string; readonly sum: string } | undefined;
  const bodies = new Map<string, string>();
  for (const [index, line] of lines.entries()) {
    const [, sum, name, shard, body] = LINE.exec(line) ?? [];
    if (sum === undefined || name === undefined) throw damaged(file, index + 1);
    if (!first) {
      if (body !== undefined) throw damaged(file, index + 1);
      first = { name, sum };
      continue;
    }
    const isNew = body?.startsWith(shard!) && !bodies.has(body);
    if (!isNew || name !== first.name) throw damaged(file, index + 1);
    bodies.set(body!, sum);
  }
  if (!first) throw damaged(file, 1);
  return { name: first.name, database: first.sum, bodies };
}

function damaged(file: string, line: number): UserError {
  return new UserError(`${file} is damaged at line ${line}`, 'Take another backup.');
}

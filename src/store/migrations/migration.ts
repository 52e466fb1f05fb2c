/** Migrations: the files of this directory whose names begin with the number of their version. */
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';

/** The default export of such a file. A released one never changes. */
export interface Steps {
  /** Statements, run in one transaction with the note that they ran. */
  readonly sql: string;
  /**
   * Whether this program also works without it. In a cluster, it then waits until all nodes know it, so that none stops writing
   * while they are upgraded one by one; otherwise the first node that is upgraded migrates.
   */
  readonly canWait?: boolean;
}

export interface Migration extends Steps {
  readonly version: number;
}

const FILES = readdirSync(new URL('.', import.meta.url))
  .filter((name) => /^\d{4}-.+\.js$/.test(name))
  .sort();

const versionOf = (file: string): number => Number(file.slice(0, 4));

/** That of version 1.0. */
export const FIRST_VERSION = versionOf(FILES[0]!);

/** The schema version after all migrations. */
export const SCHEMA_VERSION = versionOf(FILES.at(-1)!);

let known: readonly Migration[] | undefined;

/** All in order, the schema of version 1.0 first. They are loaded at first use, which is seldom. */
export function allMigrations(): readonly Migration[] {
  const load = createRequire(import.meta.url);
  known ??= FILES.map((file) => ({ version: versionOf(file), ...(load(`./${file}`) as { default: Steps }).default }));
  return known;
}

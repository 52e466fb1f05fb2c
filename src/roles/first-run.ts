/** One-time steps for a data directory: the first administrator, and the initial zone files. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurably } from '../base/durable.js';
import { AppError, messageOf, UserError } from '../base/errors.js';
import { explainFileFailure } from '../base/file-failure.js';
import { formatIssue } from '../base/result.js';
import type { Settings } from '../config/schema.js';
import { ensureFirstAdministrator, hashSecret } from '../control/access/keys.js';
import { createLoginLink } from '../control/access/sessions.js';
import { OPERATOR } from '../control/guard/actor.js';
import type { Context, ContextBase } from '../control/kernel/context.js';
import { findKeyByHash, hasUsedKeys } from '../store/access/keys.js';
import { hasUsers } from '../store/access/users.js';
import { findMeta, putMeta } from '../store/meta.js';
import { dataFile, sizeOf } from './process/data-directory.js';
import type { FirstImport } from './process/ipc.js';

/**
 * How the first administrator's key reaches its owner; empty when a key has been used, or when it came from the
 * settings.
 */
export interface InitialKey {
  /** The key to show on a terminal; the file must be removed afterwards. */
  readonly initialKey?: string;
  readonly initialKeyFile?: string;
  /** Whether no key has been used yet and this start has none to show. */
  readonly keyUnused?: true;
}

/** Octets of a generated key, which is written in 40 characters. */
const KEY_OCTETS = 30;

/**
 * Creates the first administrator if there is none. A generated key is first written to a file, so that it is not lost
 * when this start fails; it is also returned if there is a terminal to show it. Later starts mention a key that has not
 * been used yet.
 */
export async function ensureAdministrator(
  base: ContextBase,
  settings: Settings,
  terminal: boolean,
): Promise<InitialKey> {
  const file = dataFile(settings.dataDir, 'initialKey');
  if (hasUsers(base.store)) return settings.adminKey === undefined ? unusedKey(base, file) : {};
  const { adminEmail: email, adminKey } = settings;
  if (adminKey !== undefined) {
    await ensureFirstAdministrator(base, { email, key: adminKey });
    return {};
  }
  const key = Buffer.from(base.random.bytes(KEY_OCTETS)).toString('base64url');
  writeSecret(file, key);
  await ensureFirstAdministrator(base, { email, key });
  return terminal ? { initialKey: key, initialKeyFile: file } : { initialKeyFile: file };
}

/** Behind the `#`, which browsers do not send, so that no log of a server or proxy has the secret. */
export function loginLink(url: string, secret: string): string {
  return `${url}/sign-in#link=${secret}`;
}

/** Adds a link to the key of the first administrator, where that is shown. */
export async function withLoginLink(
  base: ContextBase,
  key: InitialKey,
  url: string,
): Promise<InitialKey & { readonly loginLink?: string }> {
  if (key.initialKey === undefined) return key;
  const ctx: Context = { ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' };
  return { ...key, loginLink: loginLink(url, await createLoginLink(ctx)) };
}

/** What to say when a key is set that opens nothing: the first administrator was made with another. */
export function noticesOfAdminKey({ store }: ContextBase, { adminKey }: Settings): string[] {
  if (adminKey === undefined || findKeyByHash(store, hashSecret(store, adminKey)) !== undefined) return [];
  return [
    'The admin key that is set is not used: the first administrator was made with another key. Sign in with that, or make a new one with `zoneplane key create`.',
  ];
}

function unusedKey({ store }: ContextBase, file: string): InitialKey {
  if (hasUsedKeys(store)) return {};
  return sizeOf(file) > 0 ? { initialKeyFile: file } : { keyUnused: true };
}

/** Before the database has the key: nobody could ever learn it otherwise. */
function writeSecret(file: string, secret: string): void {
  try {
    writeDurably(file, `${secret}\n`);
  } catch (error) {
    throw explainFileFailure(error, file);
  }
}

/**
 * Imports the zone files of `zonesDir` at the very first start; undefined at later starts, and when there are no files.
 * A file with errors is reported, and the others are still imported.
 */
export async function importFirstZones(
  base: ContextBase,
  settings: Settings,
  isDefaultDirectory: boolean,
): Promise<FirstImport | undefined> {
  if (findMeta(base.store, 'first_run_done') !== undefined) return undefined;
  const { zonesDir: directory } = settings;
  const files = listZoneFiles(directory, isDefaultDirectory);
  const context: Context = { ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'import' };
  const imported: string[] = [];
  const failed: string[] = [];
  const notes: string[] = [];
  for (const name of files) {
    const failure = await importFile(context, join(directory, name), imported, notes);
    if (failure !== undefined) failed.push(failure);
  }
  await base.store.write(() => putMeta(base.store, 'first_run_done', 1));
  return files.length === 0 ? undefined : { directory, imported, failed, notes };
}

/** Undefined on success; the zone's name is then appended to `imported`, and how it was found to `notes`. */
async function importFile(
  context: Context,
  file: string,
  imported: string[],
  notes: string[],
): Promise<string | undefined> {
  try {
    const { importZone } = await import('../control/imports/zone.js');
    const result = await importZone(context, { source: { file } });
    if (result.imported) {
      imported.push(result.name ?? file);
      notes.push(...result.issues.filter(({ code }) => code === 'guessed-origin').map(formatIssue));
      return undefined;
    }
    const first = result.issues.find(({ severity }) => severity === 'error');
    return first ? formatIssue(first) : `${file}: not a zone`;
  } catch (error) {
    if (error instanceof AppError || error instanceof UserError) return `${file}: ${messageOf(error)}`;
    throw error;
  }
}

/** `example.com.zone`, `example.com.db`, `db.example.com`; other files in the directory are ignored. */
const ZONE_FILE = /^db\..|.\.(?:zone|db|zonefile)$/;

function listZoneFiles(directory: string, isDefault: boolean): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isFile() && ZONE_FILE.test(entry.name))
      .map(({ name }) => name)
      .sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && isDefault) return [];
    throw new UserError(
      `the zone files of ${directory} cannot be listed (${code})`,
      'Name a directory with --zones-dir or ZONEPLANE_ZONES_DIR.',
    );
  }
}

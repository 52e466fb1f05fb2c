/**
 * The one answer to the question whether a restoration would accept a backup. `backup` asks it of what it has just written,
 * `backup verify` of a file, and `restore` of its own copy.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { messageOf, UserError } from '../base/errors.js';
import { systemRandom } from '../base/random.js';
import { type Blobs, createBlobsIn } from '../bucket/blobs.js';
import { type BodyFault, faultInRow } from '../bucket/bodies/compare.js';
import { openStoreFile, type Store } from '../store/driver.js';
import { findDamage, hasTable } from '../store/integrity.js';
import { findMeta } from '../store/meta.js';
import { requireKnownSchema } from '../store/migrate.js';
import { type ObjectInFile, objectsInRows, objectsWithFiles } from '../store/objects/objects.js';
import { type Digest, digest } from './digest.js';
import type { DigestsAside } from './digests-aside.js';
import { eachAtOnce, turn } from './each-at-once.js';
import type { BackupPlace } from './place.js';
import { parseSums, type Sums } from './sums.js';

/** An object whose body is not what was stored. */
export interface DamagedObject {
  readonly seq: number;
  readonly bucket: string;
  readonly key: string;
  readonly fault: BodyFault;
  /** The name of its body; undefined when that is in the database. */
  readonly blob: string | undefined;
}

const WORDS: Readonly<Record<BodyFault, string>> = {
  missing: 'is missing',
  size: 'is not whole',
  content: 'is not what was stored',
  unreadable: 'cannot be read',
};

export function describeDamaged({ bucket, key, fault }: Pick<DamagedObject, 'bucket' | 'key' | 'fault'>): string {
  return `the body of object ${key} ${WORDS[fault]} (bucket ${bucket})`;
}

export interface Examined {
  /** Bodies that are files of the backup, and their octets. */
  readonly bodies: number;
  readonly octets: number;
  /** Bodies that are not in the backup, but where `elsewhere` has them. */
  readonly elsewhere: number;
  /** Objects without which a restoration could be made. */
  readonly damaged: readonly DamagedObject[];
  readonly sums: Sums;
  /** The name in the list of sums, where the file has another one now. */
  readonly formerName: string | undefined;
  /** When it was made, milliseconds since 1970; undefined for one of before that was noted. */
  readonly madeAtMs: number | undefined;
  /** The backup was made before there were sums, or they are lost. */
  readonly lacksSums: boolean;
}

export interface ExamineOptions {
  /** `expect`: compares with the sums of the backup, if it has any. `make`: it has none yet. */
  readonly sums: 'expect' | 'make';
  /** Whether a backup whose list of sums is lost is taken all the same. */
  readonly withoutSums?: boolean;
  /** Where bodies may be that are not in the backup. */
  readonly elsewhere?: Pick<Blobs, 'sizeOf'> | undefined;
  /** Sums that were taken while files were copied. */
  readonly aside?: DigestsAside | undefined;
}

/** Bodies that are looked for at the same time. */
const AT_ONCE = 8;
/** Files that are read before other work of this process gets a turn. */
const TURN = 64;

/** Throws a UserError when nothing of it can be restored. `name`: what to call it. */
export async function examineBackup(
  place: BackupPlace,
  { sums: wanted, elsewhere, withoutSums = false, aside }: ExamineOptions,
  name = place.database,
): Promise<Examined> {
  const known = wanted === 'expect' ? readSums(place) : undefined;
  const { sums: own } = (await aside?.digestOf(place.database)) ?? digest(place.database, ['sha256']);
  if (known && own.sha256 !== known.database) {
    throw new UserError(`${name} is damaged: its SHA-256 is not the one in ${place.sums}`, 'Take another backup.');
  }
  const store = openBackup(place.database, name);
  try {
    requireSound(store, name);
    const madeAt = findMeta(store, 'backup_made_at');
    if (wanted === 'expect' && !known && !withoutSums && madeAt !== undefined) {
      throw new UserError(
        `${place.sums} is missing, so that damage could not be noticed`,
        'Put it beside the file, as the backup wrote it, or take another backup; --without-damaged does without.',
      );
    }
    const bodies = await examineBodies(store, place, { known, elsewhere, aside });
    const formerName = known && known.name !== basename(place.database) ? known.name : undefined;
    return {
      ...bodies,
      sums: { database: own.sha256!, bodies: bodies.sums },
      formerName,
      madeAtMs: typeof madeAt === 'number' ? madeAt : undefined,
      lacksSums: wanted === 'expect' && !known,
    };
  } finally {
    store.close();
  }
}

function readSums({ sums }: BackupPlace) {
  return existsSync(sums) ? parseSums(readFileSync(sums, 'utf8'), sums) : undefined;
}

function openBackup(path: string, name: string): Store {
  try {
    return openStoreFile(path, { readonly: true });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(`${name} is not a backup of zoneplane`, 'Name the file that `zoneplane backup` wrote.');
  }
}

function requireSound(store: Store, name: string): void {
  let damage: string | undefined;
  try {
    if (!hasTable(store, 'meta')) {
      throw new UserError(`${name} is not a backup of zoneplane`, 'Name the file that `zoneplane backup` wrote.');
    }
    requireKnownSchema(store, name);
    damage = findDamage(store);
  } catch (error) {
    if (error instanceof UserError) throw error;
    damage = messageOf(error);
  }
  if (damage !== undefined) throw new UserError(`${name} is damaged: ${damage}`, 'Take another backup.');
}

interface BodyOptions extends Pick<ExamineOptions, 'elsewhere' | 'aside'> {
  readonly known: Sums | undefined;
}

type NamedObject = Pick<ObjectInFile, 'seq' | 'key' | 'bucket_name'>;

async function examineBodies(store: Store, place: BackupPlace, options: BodyOptions) {
  const damaged: DamagedObject[] = [];
  const sums = new Map<string, string>();
  if (!hasTable(store, 'objects')) return { bodies: 0, octets: 0, elsewhere: 0, damaged, sums };
  const note = ({ seq, key, bucket_name: bucket }: NamedObject, fault: BodyFault, blob?: string): void => {
    damaged.push({ seq, bucket, key, fault, blob });
  };
  for (const object of objectsInRows(store)) {
    const fault = faultInRow(object);
    if (fault) note(object, fault);
  }
  const objects = [...objectsWithFiles(store)];
  let octets = 0;
  let elsewhere = 0;
  const files = createBlobsIn(place.bodies, systemRandom);
  let count = 0;
  await eachAtOnce(objects, AT_ONCE, async (object) => {
    const found = await examineBody(object, files.pathOf(object.blob), options);
    if (++count % TURN === 0) await turn();
    if (found === 'elsewhere') elsewhere++;
    else if (typeof found === 'string') note(object, found, object.blob);
    else {
      sums.set(object.blob, found.sum);
      octets += object.size;
    }
  });
  return { bodies: objects.length - elsewhere, octets, elsewhere, damaged, sums };
}

async function examineBody(
  { blob, size, md5 }: ObjectInFile,
  path: string,
  { known, elsewhere, aside }: BodyOptions,
): Promise<BodyFault | 'elsewhere' | { readonly sum: string }> {
  const expected = known?.bodies.get(blob);
  if (!statSync(path, { throwIfNoEntry: false })) {
    return expected === undefined && (await elsewhere?.sizeOf(blob)) === size ? 'elsewhere' : 'missing';
  }
  try {
    const taken = await aside?.digestOf(path);
    // SHA-256 was taken of what had the MD5 of the row.
    const lacksMd5 = expected === undefined && taken?.sums.md5 === undefined;
    const { octets, sums }: Digest =
      taken && !lacksMd5 ? taken : digest(path, expected === undefined ? ['sha256', 'md5'] : ['sha256']);
    if (octets !== size) return 'size';
    const isSame = expected === undefined ? sums.md5 === Buffer.from(md5).toString('hex') : sums.sha256 === expected;
    if (!isSame || (known && expected === undefined)) return 'content';
    return { sum: sums.sha256! };
  } catch {
    return 'unreadable';
  }
}

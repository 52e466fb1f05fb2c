/** Checksums of S3 clients: `x-amz-checksum-…` as a header or behind the body. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ChecksumType, PartChecksum } from '../bucket/uploads/uploads.js';
import { Crc64Nvme, type CrcName, crc32c, joinCrc } from './crc.js';
import { S3Error } from './errors.js';
import type { Fields } from './request.js';

export const CHECKSUMS = ['crc32', 'crc32c', 'crc64nvme', 'sha1', 'sha256'] as const;
export type ChecksumName = (typeof CHECKSUMS)[number];

export interface RunningChecksum {
  update(octets: Uint8Array): void;
  digest(): Buffer;
}

const LENGTHS: Readonly<Record<ChecksumName, number>> = { crc32: 4, crc32c: 4, crc64nvme: 8, sha1: 20, sha256: 32 };

export function startChecksum(name: ChecksumName): RunningChecksum {
  switch (name) {
    case 'crc32':
      return runningCrc((octets, before) => crc32(octets, before));
    case 'crc32c':
      return runningCrc(crc32c);
    case 'crc64nvme':
      return new Crc64Nvme();
    default:
      return createHash(name);
  }
}

function runningCrc(step: (octets: Uint8Array, before: number) => number): RunningChecksum {
  let value = 0;
  return {
    update(octets) {
      value = step(octets, value);
    },
    digest() {
      const octets = Buffer.alloc(4);
      octets.writeUInt32BE(value >>> 0);
      return octets;
    },
  };
}

const fieldOf = (name: ChecksumName): string => `x-amz-checksum-${name}`;

/** What a request says about the checksum of its body. */
export interface ExpectedChecksum {
  readonly name: ChecksumName;
  /** In base64; undefined when it comes behind the body. */
  readonly value: string | undefined;
}

/**
 * Throws 400 for more than one checksum, a value of the wrong length, one that is both in the head and behind the body, and for an
 * algorithm that is announced and not used.
 */
export function readChecksum(headers: Fields): ExpectedChecksum | undefined {
  const given = CHECKSUMS.filter((name) => headers[fieldOf(name)] !== undefined);
  const trailing = readTrailerNames(headers);
  if (given.length + trailing.length > 1) {
    throw new S3Error(
      'InvalidRequest',
      'Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.',
    );
  }
  const name = given[0] ?? trailing[0];
  const wanted = headers['x-amz-sdk-checksum-algorithm'];
  if (wanted !== undefined && String(wanted).toLowerCase() !== name) {
    const reason =
      name === undefined
        ? 'x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer headers were found.'
        : 'Value for x-amz-sdk-checksum-algorithm header is invalid.';
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    if (name !== undefined || hasBody) throw new S3Error('InvalidRequest', reason);
  }
  if (name === undefined) return undefined;
  const value = headers[fieldOf(name)];
  if (value !== undefined) requireForm(name, String(value));
  return { name, value: value === undefined ? undefined : String(value) };
}

function readTrailerNames(headers: Fields): ChecksumName[] {
  const field = headers['x-amz-trailer'];
  if (field === undefined) return [];
  return String(field)
    .split(',')
    .map((text) => {
      const name = CHECKSUMS.find((known) => fieldOf(known) === text.trim().toLowerCase());
      if (name === undefined) {
        throw new S3Error('InvalidRequest', 'The value specified in the x-amz-trailer header is not supported.');
      }
      return name;
    });
}

/** Throws 400 InvalidRequest for what is not base64 of the right length. */
function requireForm(name: ChecksumName, value: string): void {
  const octets = Buffer.from(value, 'base64');
  if (octets.length !== LENGTHS[name] || octets.toString('base64') !== value) {
    throw new S3Error('InvalidRequest', `Value for ${fieldOf(name)} header is invalid.`);
  }
}

/** The value behind the body. Throws when another set of fields came than was announced. */
export function valueOfTrailer({ name, value }: ExpectedChecksum, fields: ReadonlyMap<string, string>): string {
  if (value !== undefined) return value;
  const trailing = fields.get(fieldOf(name));
  if (trailing === undefined || fields.size !== 1) throw new S3Error('MalformedTrailerError');
  requireForm(name, trailing);
  return trailing;
}

/** Content-MD5 as octets; undefined when there is none. Throws 400 InvalidDigest. */
export function readContentMd5(headers: Fields): Buffer | undefined {
  const field = headers['content-md5'];
  if (field === undefined) return undefined;
  const octets = Buffer.from(String(field), 'base64');
  if (octets.length !== 16 || octets.toString('base64') !== String(field)) throw new S3Error('InvalidDigest');
  return octets;
}

/** A checksum with its value in base64. */
export interface Checksum {
  readonly name: ChecksumName;
  readonly value: string;
}

/** As it is kept with an object. */
export function checksumText(checksum: Checksum | undefined): string | undefined {
  return checksum && `${checksum.name} ${checksum.value}`;
}

/** What is kept; undefined when nothing is. */
export function checksumOf(text: string | undefined): Checksum | undefined {
  const [name, value] = text?.split(' ') ?? [];
  const known = CHECKSUMS.find((each) => each === name);
  return known && value !== undefined ? { name: known, value } : undefined;
}

/** The header fields of what is kept. */
export function checksumFields(text: string | undefined): Record<string, string> {
  const checksum = checksumOf(text);
  if (!checksum) return {};
  const type = checksum.value.includes('-') ? 'COMPOSITE' : 'FULL_OBJECT';
  return { [fieldOf(checksum.name)]: checksum.value, 'x-amz-checksum-type': type };
}

const isCrc = (name: ChecksumName): name is CrcName => name.startsWith('crc');

/** The type that a client asks for; undefined: none. Throws 400 for a type that the algorithm does not support. */
export function readChecksumType(headers: Fields, name: string | undefined): ChecksumType | undefined {
  const type = headers['x-amz-checksum-type'];
  if (type === undefined) return undefined;
  const known = CHECKSUMS.find((each) => each === name?.toLowerCase());
  const isPossible =
    type === 'FULL_OBJECT' ? !known || isCrc(known) : type === 'COMPOSITE' && (!known || known !== 'crc64nvme');
  if (isPossible) return type as ChecksumType;
  const reason = known === undefined ? 'is not known' : `cannot be used with ${known}`;
  throw new S3Error('InvalidRequest', `The checksum type ${String(type).slice(0, 64)} ${reason}.`);
}

/**
 * The checksum of a multipart object. For CRC-64/NVME it covers the octets, and for other CRCs too if the client asks for that, when
 * it begins (`begun`) or completes the upload, or sends that value; otherwise it covers the checksums of the parts. Undefined if parts
 * have different algorithms, or no checksum. Throws 400 when the client completes an upload with another type than it began it with.
 */
export function* composeChecksums(
  parts: readonly PartChecksum[],
  headers: Fields = {},
  begun?: ChecksumType,
): Generator<undefined, string | undefined> {
  const checksums = parts.map(({ checksum }) => checksumOf(checksum));
  const name = checksums[0]?.name;
  if (name === undefined || checksums.some((checksum) => checksum?.name !== name)) return undefined;
  const values = checksums.map((checksum) => Buffer.from(checksum!.value, 'base64'));
  const said = readChecksumType(headers, name);
  if (begun !== undefined && said !== undefined && said !== begun) {
    throw new S3Error('InvalidRequest', `The upload was begun with the checksum type ${begun}.`);
  }
  const type = said ?? begun;
  if (isCrc(name) && type !== 'COMPOSITE') {
    const pieces = values.map((crc, i) => ({ crc, octets: parts[i]!.size }));
    const joined = (yield* joinCrc(name, pieces)).toString('base64');
    const isWanted = name === 'crc64nvme' || type === 'FULL_OBJECT' || headers[fieldOf(name)] === joined;
    if (isWanted) return `${name} ${joined}`;
  }
  const running = startChecksum(name);
  for (const value of values) running.update(value);
  return `${name} ${running.digest().toString('base64')}-${parts.length}`;
}

/** Throws 400 BadDigest when a client says another checksum of an object in parts than it has. */
export function requireComposed(headers: Fields, composed: string | undefined): void {
  const checksum = checksumOf(composed);
  const given = checksum && headers[fieldOf(checksum.name)];
  // The number of parts may be left out.
  if (given === undefined || given === checksum!.value || given === checksum!.value.split('-', 1)[0]) return;
  throw new S3Error('BadDigest');
}

/** The fields of a request without those that say the checksum of an object instead of the body. */
export function withoutChecksums(headers: Fields): Fields {
  const names = new Set<string>([...CHECKSUMS.map(fieldOf), 'x-amz-checksum-type', 'x-amz-sdk-checksum-algorithm']);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name)));
}

/**
 * Records of zones with compact denial (RFC 9824) that are signed only when they are asked for: the NSEC record of a name that
 * does not exist or has none of its own, and the signatures of a wildcard's data under the name that was asked for. They are
 * made outside of the engine and stand in a table. When an answer lacks one, the search says which, and the query is deferred.
 */
// hot
import { Ede, Rcode } from '../dns/codes.js';
import { RRsetWord } from '../image/layout.js';
import type { ImageReader } from '../image/reader.js';
import { Lack, type MadeRecords, madeKey, UNMADE } from './made.js';
import { copyOctets, fail, MAX_POINTER, putOwners, type Response, truncate, writeRequired } from './response.js';
import type { Search } from './search.js';

/** Notes that the answer needs these records: the ones in the table, or those that it lacks. */
export function oweMade(search: Search, image: ImageReader, kind: number, subject: number): void {
  search.owed = findMade(search, image, kind, subject);
  if (search.owed !== undefined) return;
  search.lack = kind;
  search.lackSubject = subject;
}

function findMade(search: Search, image: ImageReader, kind: number, subject: number): MadeRecords | undefined {
  const made = search.made?.get(madeKey(search.hashes[0]!, kind, subject));
  if (
    made === undefined ||
    made.kind !== kind ||
    made.subject !== subject ||
    made.apexNode !== search.apexNode ||
    made.generation !== image.generation ||
    made.name.length !== search.nameLength
  ) {
    return undefined;
  }
  for (let i = 0; i < search.nameLength; i++) if (made.name[i] !== search.name[i]) return undefined;
  return made;
}

/** Writes the records that {@link oweMade} found. Returns their number; 0 also when they do not fit or could not be made. */
export function writeOwed(search: Search, response: Response): number {
  const made = search.owed;
  search.owed = undefined;
  if (made === undefined) return 0;
  if (made.count === UNMADE) {
    fail(response, Ede.notReady);
    return 0;
  }
  const length = made.octets.byteLength;
  const start = response.at;
  if (length === 0) return 0;
  if (start + length > response.limit || search.at > MAX_POINTER) {
    truncate(response);
    return 0;
  }
  const to = response.base + start;
  copyOctets(made.octets, 0, response.view, to, length);
  putOwners(response.bytes, to, to + length, search.at);
  response.at = start + length;
  return made.count;
}

/** Writes a wildcard's RRset into the answer, signed for the name itself; false when the answer ends here without it. */
export function writeExpanded(search: Search, response: Response, image: ImageReader, rrset: number): boolean {
  // An RRset without signatures at the wildcard is answered without them: it is not signed yet, or never.
  const isSigned = image.words[rrset + RRsetWord.signatures]! > 0;
  if (isSigned) oweMade(search, image, Lack.data, rrset);
  if (search.lack !== Lack.nothing) return false;
  response.dnssecOk = !isSigned;
  const count = writeRequired(response, image, rrset, search.at);
  response.dnssecOk = true;
  if (count === 0) return false;
  response.answers += count + writeOwed(search, response);
  return !response.truncated && response.rcode !== Rcode.servFail;
}

/**
 * Parses master files (RFC 1035 §5, $TTL of RFC 2308 §4) and finds all errors in one pass. An invalid entry is reported
 * and omitted; parsing continues with the next one.
 */
import { ByteReader } from '../../base/bytes.js';
import type { Issue } from '../../base/result.js';
import { Type } from '../codes.js';
import { NameError, parseName, ROOT } from '../name.js';
import { PresentationError, type Token, TokenCursor } from '../presentation.js';
import { typeByCode } from '../rr/registry.js';
import type { RRType } from '../rr/type.js';
import { isExcessiveTtl, MAX_TTL, parseTtl } from '../ttl.js';
import { expandTemplate, type GenerateRange, parseRange } from './generate.js';
import { ZoneFileIssues } from './issues.js';
import { createLexer, type Entry } from './lexer.js';
import { failure, parseData, parseWithoutOrigin } from './rdata.js';
import {
  detectOrigin,
  exportedZone,
  type IncludedFile,
  type IncludePlace,
  includeFile,
  readChunks,
  realPathOf,
  type ZoneText,
} from './source.js';
import { findType, isClass, isFlattenedAlias, unpackQuotedData } from './words.js';

/** Records in one batch. */
const BATCH = 1000;
const MAX_TTL_WARNINGS = 100;
const USUAL_BOUNDS: ZoneFileBounds = { records: Number.POSITIVE_INFINITY, generated: 1_000_000 };
const MAX_INCLUDED_FILES = 10_000;

export interface ParsedRecord {
  /** Wire name, case unchanged. Consecutive records of one owner share the object. */
  readonly owner: Uint8Array;
  readonly type: number;
  /** Seconds; undefined when neither the record nor anything before it sets one. */
  readonly ttl: number | undefined;
  readonly rdata: Uint8Array;
  readonly line: number;
  readonly column: number;
  /** The file as the user named it; undefined for text without a file. */
  readonly file: string | undefined;
  /** Comment after the record, when comments are kept. */
  readonly comment: string | undefined;
  /** A CNAME that stands for the addresses of its target: it was written as ALIAS or ANAME, as other servers do. */
  readonly flattened: boolean;
}

export interface ZoneFileBounds {
  /** Records in all. */
  readonly records: number;
  /** Records that $GENERATE makes in all. */
  readonly generated: number;
}

export interface ZoneReadingOptions {
  /** Wire name that completes relative names until $ORIGIN changes it; if absent, the zone detected in the source. */
  readonly origin?: Uint8Array;
  /** Directory from which $INCLUDE may read; without it $INCLUDE is refused. */
  readonly includeDirectory?: string;
  readonly keepComments?: boolean;
  /** Limits of a file from a stranger; default: those of every file. */
  readonly bounds?: ZoneFileBounds;
  /** Records without any TTL have none, instead of the minimum of the SOA before them (RFC 1035 §3.3.13). */
  readonly ignoresSoaMinimum?: boolean;
}

/** A zone file that is being read. */
export interface ZoneReading {
  /** The records in batches, in file order. Consume the generator once and completely. */
  records(): Generator<ParsedRecord[]>;
  /** The errors found so far; complete when all records have been consumed. */
  readonly issues: readonly Issue[];
  /** Octets read so far, including included files. */
  readonly octets: number;
}

/** Starts reading a zone. The first batch throws a UserError when the file cannot be opened. */
export function readZone(source: ZoneText, options: ZoneReadingOptions = {}): ZoneReading {
  const state = new ZoneFileState(options);
  return {
    issues: state.issues.all,
    get octets() {
      return state.octets;
    },
    *records() {
      const file = 'file' in source ? source.file : undefined;
      const realPath = realPathOf(source);
      state.begin(options.origin ?? detectOrigin(source), exportedZone(source) !== undefined);
      yield* state.readAll({ file, depth: 0, ancestors: realPath === undefined ? [] : [realPath] }, source);
      if (state.batch.length > 0) yield state.takeBatch();
    },
  };
}

/** The state of reading one file of a zone. */
interface FilePlace extends IncludePlace {
  readonly file: string | undefined;
}

/** What $GENERATE makes: the words of a record for each value of a counter. */
interface Series {
  readonly range: GenerateRange;
  readonly tokens: readonly Token[];
}

class ZoneFileState {
  readonly issues = new ZoneFileIssues();
  batch: ParsedRecord[] = [];
  private origin: Uint8Array | undefined;
  private defaultTtl: number | undefined;
  private lastTtl: number | undefined;
  private owner: Uint8Array | undefined;
  private ownerText = '';
  private ownerOrigin: Uint8Array | undefined;
  /** The owner was invalid: records that inherit it are omitted without another message. */
  private ownerIsBad = false;
  /** Records so far, and how many of them were generated. */
  private records = 0;
  private generated = 0;
  private readonly bounds: ZoneFileBounds;
  private included = 0;
  private excessive = 0;
  octets = 0;
  /** In a v4 export the names of the SOA are absolute without a final dot. */
  private isExport = false;

  constructor(private readonly options: ZoneReadingOptions) {
    this.bounds = options.bounds ?? USUAL_BOUNDS;
  }

  begin(origin: Uint8Array | undefined, isExport: boolean): void {
    this.origin = origin;
    this.isExport = isExport;
  }

  /** Takes up to {@link BATCH} records. */
  takeBatch(): ParsedRecord[] {
    if (this.batch.length > BATCH) return this.batch.splice(0, BATCH);
    const batch = this.batch;
    this.batch = [];
    return batch;
  }

  *readAll(place: FilePlace, source: ZoneText): Generator<ParsedRecord[]> {
    const lexer = createLexer(this.options.keepComments ?? false);
    for (const chunk of readChunks(source)) {
      this.octets += chunk.length;
      yield* this.takeEntries(lexer.feed(chunk), place);
      if (this.hasEnded) return;
      // Long records, and lines without any, take their time, too.
      yield this.takeBatch();
    }
    yield* this.takeEntries(lexer.end(), place);
    if (!lexer.isMarked) return;
    const message = 'the file begins with a byte order mark, which was skipped; other name servers may refuse it';
    this.issues.report({ message, line: 1, column: 1 }, place.file, 'byte-order-mark', 'warning');
  }

  private *takeEntries(entries: readonly Entry[], place: FilePlace): Generator<ParsedRecord[]> {
    for (const entry of entries) {
      const more = this.takeEntry(entry, place);
      if (more && 'range' in more) yield* this.takeGenerated(more, place);
      else if (more) yield* this.readIncluded(more, place);
      while (this.batch.length >= BATCH) yield this.takeBatch();
      if (this.records > this.bounds.records) {
        const message = `more than ${this.bounds.records} records; the rest of the file was not read`;
        this.issues.report({ message, line: entry.line, column: 1 }, place.file, 'too-many-records');
      }
      this.issues.reportEnd(entry.line, place.file);
      if (this.hasEnded) return;
    }
  }

  /** Whether the rest is not read. */
  private get hasEnded(): boolean {
    return this.issues.areTooMany || this.records > this.bounds.records;
  }

  /** $INCLUDE does not change the origin or the owner of the including file (RFC 1035 §5.1). */
  private *readIncluded(included: IncludedFile, place: FilePlace): Generator<ParsedRecord[]> {
    const { origin, owner, ownerText, ownerIsBad } = this;
    this.origin = included.origin ?? origin;
    this.forgetOwner();
    const inside = { file: included.file, depth: place.depth + 1, ancestors: [...place.ancestors, included.realPath] };
    yield* this.readAll(inside, { file: included.realPath });
    this.origin = origin;
    this.owner = owner;
    this.ownerText = ownerText;
    this.ownerIsBad = ownerIsBad;
  }

  /** Reads one entry; returns an included file, or a series of records, for the caller to read. Errors become issues. */
  private takeEntry(entry: Entry, place: FilePlace): IncludedFile | Series | undefined {
    return this.issues.collect(entry.tokens, place.file, () => {
      if (entry.fault) this.issues.report(entry.fault, place.file);
      const first = entry.tokens[0];
      if (!first || entry.fault) return undefined;
      if (!entry.leadingBlank && !first.quoted && first.text.charCodeAt(0) === 36)
        return this.takeDirective(entry, place);
      this.takeRecord(entry.tokens, entry.leadingBlank, place.file, entry.comment);
      return undefined;
    });
  }

  private takeDirective({ tokens }: Entry, place: FilePlace): IncludedFile | Series | undefined {
    const cursor = new TokenCursor(tokens);
    const directive = cursor.next('directive');
    switch (directive.text.toUpperCase()) {
      case '$ORIGIN':
        this.origin = this.parseNameOf(cursor.next('name after $ORIGIN'));
        break;
      case '$TTL': {
        const token = cursor.next('TTL after $TTL');
        this.defaultTtl = this.parseTtlOf(token, place.file);
        break;
      }
      case '$GENERATE':
        return this.readSeries(cursor, tokens);
      case '$INCLUDE': {
        const token = cursor.next('file name after $INCLUDE');
        const origin = cursor.done ? undefined : this.parseNameOf(cursor.next('origin'));
        endDirective(cursor);
        const included = includeFile(token, origin, this.options.includeDirectory, place);
        if (++this.included > MAX_INCLUDED_FILES)
          throw cursor.failure(`more than ${MAX_INCLUDED_FILES} files included`, token);
        return included;
      }
      default:
        throw cursor.failure('unknown directive', directive);
    }
    endDirective(cursor);
    return undefined;
  }

  /** A series is counted before any record of it is made. */
  private readSeries(cursor: TokenCursor, tokens: readonly Token[]): Series {
    const range = parseRange(cursor.next('range after $GENERATE'));
    if (cursor.remaining < 3) throw cursor.failure('missing owner, type or data of $GENERATE');
    const count = Math.floor((range.stop - range.start) / range.step) + 1;
    const { generated: most } = this.bounds;
    if (this.generated + count > most) {
      throw cursor.failure(`$GENERATE makes more than ${most} records in all`, tokens[0]);
    }
    this.generated += count;
    return { range, tokens: tokens.slice(2) };
  }

  private *takeGenerated({ range, tokens }: Series, place: FilePlace): Generator<ParsedRecord[]> {
    for (let value = range.start; value <= range.stop; value += range.step) {
      const isTaken = this.issues.collect(tokens, place.file, () => {
        const expanded = tokens.map((token) => ({ ...token, text: expandTemplate(token, value) }));
        this.takeRecord(unpackQuotedData(expanded), false, place.file, undefined);
        return true;
      });
      if (!isTaken || this.records > this.bounds.records) return;
      if (this.batch.length >= BATCH) yield this.takeBatch();
    }
  }

  private takeRecord(
    tokens: readonly Token[],
    inherits: boolean,
    file: string | undefined,
    comment: string | undefined,
  ): void {
    const first = tokens[0]!;
    if (inherits && this.ownerIsBad) return;
    const here = inherits ? this.owner : this.parseOwner(first);
    if (!here) throw new PresentationError('record without an owner', first.line, first.column, first.text);
    let at = inherits ? 0 : 1;
    let ttl: number | undefined;
    let sawClass = false;
    let type: RRType | undefined;
    let flattened = false;
    for (; at < tokens.length; at++) {
      const token = tokens[at]!;
      const octet = token.text.charCodeAt(0);
      if (octet >= 48 && octet <= 57 && !token.quoted) {
        if (ttl !== undefined) throw failure('second TTL', token);
        ttl = this.parseTtlOf(token, file);
      } else if (!sawClass && isClass(token)) {
        sawClass = true;
      } else {
        flattened = isFlattenedAlias(token);
        type = flattened ? CNAME : findType(token);
        at++;
        break;
      }
    }
    if (!type) throw failure('missing record type', tokens[tokens.length - 1]!);
    if (ttl === undefined) ttl = this.defaultTtl ?? this.lastTtl;
    else this.lastTtl = ttl;
    const isAbsolute = this.isExport && type.code === Type.soa;
    const origin = isAbsolute ? ROOT : this.origin;
    const rdata = origin ? parseData(type, tokens, at, origin) : parseWithoutOrigin(type, tokens, at);
    const owner = isAbsolute && !inherits ? parseName(first.text, ROOT) : here;
    if (ttl === undefined && type.code === Type.soa) ttl = this.takeMinimum(rdata, first, file);
    const { line, column } = first;
    this.records++;
    this.batch.push({ owner, type: type.code, ttl, rdata, line, column, file, comment, flattened });
  }

  /** The minimum of an SOA is the TTL of a file that gives none: its own and that of what follows (RFC 1035 §3.3.13). */
  private takeMinimum(soa: Uint8Array, { line, column, text }: Token, file: string | undefined): number | undefined {
    if (this.options.ignoresSoaMinimum) return undefined;
    const minimum = new ByteReader(soa, soa.length - 4).u32();
    this.defaultTtl = minimum > MAX_TTL ? 0 : minimum;
    const message = `the file gives no TTL: the minimum of the SOA, ${this.defaultTtl}, is taken (RFC 1035 §3.3.13)`;
    this.issues.report({ message, line, column, text }, file, 'soa-minimum', 'warning');
    return this.defaultTtl;
  }

  private parseOwner(token: Token): Uint8Array {
    if (token.text === this.ownerText && this.origin === this.ownerOrigin && this.owner && !token.quoted)
      return this.owner;
    this.forgetOwner();
    this.ownerIsBad = true;
    const owner = this.parseNameOf(token);
    this.ownerIsBad = false;
    this.owner = owner;
    this.ownerText = token.text;
    this.ownerOrigin = this.origin;
    return owner;
  }

  /** Prevents records after an invalid owner from being assigned to the previous owner. */
  private forgetOwner(): void {
    this.owner = undefined;
    this.ownerText = '';
    this.ownerIsBad = false;
  }

  private parseTtlOf(token: Token, file: string | undefined): number {
    const ttl = parseTtl(token.text);
    if (ttl !== undefined) return ttl;
    if (!isExcessiveTtl(token.text)) throw failure(BAD_TTL, token);
    const { line, column, text } = token;
    if (++this.excessive > MAX_TTL_WARNINGS) return 0;
    const message = 'the TTL is above 2147483647 seconds and counts as 0 (RFC 2181 §8)';
    this.issues.report({ message, line, column, text }, file, 'excessive-ttl', 'warning');
    return 0;
  }

  private parseNameOf(token: Token): Uint8Array {
    try {
      return parseName(token.text, this.origin);
    } catch (error) {
      throw error instanceof NameError ? failure(error.message, token) : error;
    }
  }
}

const CNAME = typeByCode(Type.cname);

const BAD_TTL = 'bad TTL: must be 0 to 2147483647 seconds, or written like 1h30m';

function endDirective(cursor: TokenCursor): void {
  const extra = cursor.peek();
  if (extra) throw failure('unexpected text after the directive', extra);
}

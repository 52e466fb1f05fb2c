/**
 * What the rest of the house knows of a record type. Types are defined one a file from field lists (define.ts) and found
 * through registry.ts; nothing outside this directory switches on a type to read its rdata.
 *
 * Rdata everywhere is wire form with uncompressed names, their case kept.
 */
import type { TokenCursor } from '../presentation.js';

/** A domain name inside rdata. */
export interface RdataName {
  /** Octets from the start of the rdata. */
  readonly at: number;
  readonly length: number;
  /** Whether it may be compressed in answers: only in the types of RFC 1035 (RFC 3597 §4). */
  readonly compress: boolean;
  /** Whether its addresses belong into the additional section (RFC 1034 §4.3.2 step 6, RFC 2782, RFC 9460 §4.1). */
  readonly additional: boolean;
}

/** Rdata that is not what its type asks for. `pointer` names the member of `data` at fault, as in `/data/port`. */
export class RdataError extends Error {
  constructor(
    message: string,
    readonly pointer?: string,
    /** The v4 code a client is answered with (api-contract §15.3). */
    readonly code: number = 1004,
  ) {
    super(message);
    this.name = 'RdataError';
  }
}

/** A record's value as v4 clients send it: `content`, `data` (which is read when both are there), and `priority` beside them. */
export interface ApiInput {
  readonly content?: string | undefined;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly priority?: number | undefined;
}

/** A record's value as the v4 API answers it (api-contract §6). `content` never null. */
export interface ApiOutput {
  readonly content: string;
  /** Only for structured types. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Only for MX, SRV and URI. */
  readonly priority?: number;
}

/** A member of the v4 `data` object, as far as a schema can say it. */
export interface DataMember {
  readonly name: string;
  readonly type: 'integer' | 'number' | 'string' | 'strings';
  readonly minimum?: number;
  readonly maximum?: number;
  /** The only texts allowed. */
  readonly values?: readonly string[];
  readonly required: boolean;
}

export interface RRType {
  readonly code: number;
  readonly mnemonic: string;
  /** Where it is defined, such as `RFC 1035 §3.3.9`. */
  readonly rfc: string;
  /** Whether the v4 API lets clients create it (api-contract §5.2). */
  readonly creatable: boolean;
  /** Members of `data`; empty for a type that has only `content`. */
  readonly data: readonly DataMember[];
  /** Rdata of presentation-form tokens; also takes `\# length hex` (RFC 3597 §5). Throws PresentationError. */
  parse(tokens: TokenCursor, origin: Uint8Array): Uint8Array;
  /** One-line presentation form, names with final dot; `\# length hex` for a type we do not know. */
  print(rdata: Uint8Array): string;
  /** Checks octets that came from outside (wire form, names uncompressed). Throws {@link RdataError}. */
  check(rdata: Uint8Array): void;
  /** Canonical form: names in lower case where RFC 4034 §6.2 and RFC 6840 §5.1 say so. */
  canonical(rdata: Uint8Array): Uint8Array;
  /** Key by which duplicates are found: like canonical, but TXT by its joined octets (api-contract §6.1). */
  duplicateKey(rdata: Uint8Array): Uint8Array;
  /** Domain names inside, in order. */
  names(rdata: Uint8Array): readonly RdataName[];
  /** Checks and encodes what a v4 client sent; `content` is the text to store and answer. Throws {@link RdataError}. */
  fromApi(input: ApiInput, apex: Uint8Array): { readonly rdata: Uint8Array; readonly content: string };
  /** What the v4 API answers for stored rdata and the stored content text. */
  toApi(rdata: Uint8Array, content: string): ApiOutput;
  /** The content text of rdata that did not come over the API (import, transfer). */
  contentOf(rdata: Uint8Array): string;
}

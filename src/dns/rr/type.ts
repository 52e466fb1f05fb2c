/**
 * The interface of a record type. Each type is defined in its own file from a list of fields (define.ts) and found
 * through registry.ts; code outside this directory never switches on a type to read its rdata.
 *
 * Rdata is always in wire form with uncompressed names in their original case.
 */
import type { TokenCursor } from '../presentation.js';

/** A domain name inside rdata. */
export interface RdataName {
  /** Offset in the rdata, in octets. */
  readonly at: number;
  readonly length: number;
  /** Whether it may be compressed in answers: only in the types of RFC 1035 (RFC 3597 §4). */
  readonly compress: boolean;
  /** Whether its addresses belong in the additional section (RFC 1034 §4.3.2 step 6, RFC 2782, RFC 9460 §4.1). */
  readonly additional: boolean;
}

/** Rdata that violates the rules of its type. `pointer` names the invalid member of `data`, as in `/data/port`. */
export class RdataError extends Error {
  constructor(
    message: string,
    readonly pointer?: string,
    /** The v4 code of the error (api-contract §15.3). */
    readonly code: number = 1004,
  ) {
    super(message);
    this.name = 'RdataError';
  }
}

/** A record's value from v4 clients: `content`, `data` (which wins when both are given), and a separate `priority`. */
export interface ApiInput {
  readonly content?: string | undefined;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly priority?: number | undefined;
}

/** A record's value in v4 answers (api-contract §6). `content` is never null. */
export interface ApiOutput {
  readonly content: string;
  /** Only for structured types. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Only for MX, SRV and URI. */
  readonly priority?: number;
}

/** A member of the v4 `data` object, as far as a schema can describe it. */
export interface DataMember {
  readonly name: string;
  readonly type: 'integer' | 'number' | 'string' | 'strings';
  readonly minimum?: number;
  readonly maximum?: number;
  /** The only allowed texts. */
  readonly values?: readonly string[];
  readonly required: boolean;
}

export interface RRType {
  readonly code: number;
  readonly mnemonic: string;
  /** The defining document, such as `RFC 1035 §3.3.9`. */
  readonly rfc: string;
  /** Whether v4 clients may create it (api-contract §5.2). */
  readonly creatable: boolean;
  /** Members of `data`; empty for a type with only `content`. */
  readonly data: readonly DataMember[];
  /** Parses rdata from tokens in presentation form or as `\# length hex` (RFC 3597 §5). Throws PresentationError. */
  parse(tokens: TokenCursor, origin: Uint8Array): Uint8Array;
  /** One-line presentation form, names with the final dot; `\# length hex` for an unknown type. */
  print(rdata: Uint8Array): string;
  /** Checks octets from outside (wire form, uncompressed names). Throws {@link RdataError}. */
  check(rdata: Uint8Array): void;
  /**
   * What is wrong with well-formed rdata that no software could use, and with which member; undefined when nothing is.
   * Clients cannot create it and zone files must not have it, but it can be read, printed and answered.
   */
  semanticFault(rdata: Uint8Array): { readonly member: string; readonly reason: string } | undefined;
  /** Canonical form: names in lower case as RFC 4034 §6.2 and RFC 6840 §5.1 require. */
  canonical(rdata: Uint8Array): Uint8Array;
  /** The key for finding duplicates: the canonical form, but for TXT the joined octets (api-contract §6.1). */
  duplicateKey(rdata: Uint8Array): Uint8Array;
  /** The embedded domain names, in order. */
  names(rdata: Uint8Array): readonly RdataName[];
  /**
   * Checks and encodes a value from a v4 client; `content` is the text to store and return. Throws {@link RdataError}.
   */
  fromApi(input: ApiInput, apex: Uint8Array): { readonly rdata: Uint8Array; readonly content: string };
  /** The v4 value for stored rdata and its stored content text. */
  toApi(rdata: Uint8Array, content: string): ApiOutput;
  /** The content text for rdata that did not come through the API (import, transfer). */
  contentOf(rdata: Uint8Array): string;
}

/**
 * Tokens of presentation format (RFC 1035 §5.1), shared by the zone file lexer and the record types' parsers.
 *
 * A token's text is latin1: one character for each octet of the file. Escapes (`\.`, `\000`) stay in it, because domain
 * names, character strings and plain words decode them differently.
 */
import { readEscape } from './name.js';

export interface Token {
  readonly text: string;
  /** Whether it was written between double quotes, which are not part of the text. */
  readonly quoted: boolean;
  /** 1-based. */
  readonly line: number;
  /** 1-based, in octets. */
  readonly column: number;
}

/** The text does not follow the format. The position is that of the invalid token, or of the end of the entry. */
export class PresentationError extends Error {
  constructor(
    message: string,
    readonly line: number,
    readonly column: number,
    /** The invalid text, as written. */
    readonly text?: string,
  ) {
    super(message);
    this.name = 'PresentationError';
  }
}

/** Reads the tokens of one entry in order. */
export class TokenCursor {
  private at: number;

  constructor(
    private readonly tokens: readonly Token[],
    start = 0,
  ) {
    this.at = start;
  }

  get done(): boolean {
    return this.at >= this.tokens.length;
  }

  /** Number of unread tokens. */
  get remaining(): number {
    return this.tokens.length - this.at;
  }

  /** Returns the next token without taking it; undefined at the end. */
  peek(): Token | undefined {
    return this.tokens[this.at];
  }

  /** Takes the next token. `expected` names it for the error at the end of the entry. */
  next(expected: string): Token {
    const token = this.tokens[this.at];
    if (!token) throw this.failure(`missing ${expected}`);
    this.at++;
    return token;
  }

  /** Throws when unread tokens remain. */
  end(): void {
    const extra = this.tokens[this.at];
    if (extra) throw this.failure('unexpected text after the record data', extra);
  }

  /** An error at `token`, or at the end of the entry. */
  failure(message: string, token?: Token): PresentationError {
    const place = token ?? this.tokens[this.tokens.length - 1];
    return new PresentationError(message, place?.line ?? 1, place?.column ?? 1, token?.text);
  }
}

/**
 * Octets of a character string token with escapes decoded (RFC 1035 §5.1); undefined for an invalid escape. The length
 * is not checked here; a `<character-string>` has up to 255 octets.
 */
export function unescapeText(text: string): Uint8Array | undefined {
  if (!text.includes('\\')) return latin1Bytes(text);
  const out = new Uint8Array(text.length);
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    let c = text.charCodeAt(i);
    if (c === 92) {
      const octet = readEscape(text, i);
      if (octet < 0) return undefined;
      c = octet & 0xff;
      i += octet >> 8;
    }
    out[at++] = c;
  }
  return out.slice(0, at);
}

/** One octet for each character. */
export function latin1Bytes(text: string): Uint8Array {
  const out = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
  return out;
}

/** One character for each octet. */
export function latin1Text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

/** A `<character-string>` between quotes, with `"`, `\` and everything outside printable ASCII escaped. */
export function quoteText(bytes: Uint8Array): string {
  let out = '"';
  for (const octet of bytes) {
    if (octet === 34 || octet === 92) out += `\\${String.fromCharCode(octet)}`;
    else if (octet >= 32 && octet < 127) out += String.fromCharCode(octet);
    else out += `\\${String(octet).padStart(3, '0')}`;
  }
  return `${out}"`;
}

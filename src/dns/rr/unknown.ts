/** Types without a definition, and the `\# length hex` notation that every type takes (RFC 3597 §5). */
import { fromHex, toHex } from '../../base/bytes.js';
import { latin1Text, PresentationError, type TokenCursor, TokenCursor as Tokens } from '../presentation.js';
import { octetsOfText } from './octet-text.js';
import { tokenizeRdata } from './tokens.js';
import { RdataError, type RdataName, type RRType } from './type.js';

const MAX_RDATA_LENGTH = 0xffff;
const NO_NAMES: readonly RdataName[] = [];

/** Whether the tokens are in the notation of RFC 3597 §5. */
export function isUnknownForm(tokens: TokenCursor): boolean {
  const first = tokens.peek();
  return first !== undefined && first.text === '\\#' && !first.quoted;
}

/** Rdata from `\# length hex…`; the digits may be split into several words. Throws PresentationError. */
export function parseUnknownForm(tokens: TokenCursor): Uint8Array {
  tokens.next('\\#');
  const lengthToken = tokens.next('rdata length');
  const length = Number(lengthToken.text);
  if (!/^\d{1,5}$/.test(lengthToken.text) || length > MAX_RDATA_LENGTH) {
    throw tokens.failure('rdata length must be a number from 0 to 65535', lengthToken);
  }
  let hex = '';
  while (!tokens.done) {
    const token = tokens.next('hexadecimal data');
    if (token.quoted || !/^[0-9a-fA-F]*$/.test(token.text)) throw tokens.failure('bad hexadecimal data', token);
    hex += token.text;
  }
  const rdata = fromHex(hex);
  if (!rdata) throw tokens.failure('odd number of hexadecimal digits');
  if (rdata.length !== length) {
    throw tokens.failure(`rdata length is given as ${length} but ${rdata.length} octets follow`, lengthToken);
  }
  return rdata;
}

function printUnknownForm(rdata: Uint8Array): string {
  return rdata.length === 0 ? '\\# 0' : `\\# ${rdata.length} ${toHex(rdata)}`;
}

/** A type of which only the number, and perhaps the mnemonic, is known: its rdata is opaque. */
export function unknownType(code: number, mnemonic: string, rfc = 'RFC 3597'): RRType {
  const parse = (tokens: TokenCursor): Uint8Array => {
    if (!isUnknownForm(tokens)) {
      throw tokens.failure(`data of ${mnemonic} must be written as \\# length hex (RFC 3597 §5)`, tokens.peek());
    }
    return parseUnknownForm(tokens);
  };
  return {
    code,
    mnemonic,
    rfc,
    creatable: false,
    semanticFault: () => undefined,
    data: [],
    parse,
    print: printUnknownForm,
    check(rdata) {
      if (rdata.length > MAX_RDATA_LENGTH) throw new RdataError(`${mnemonic} rdata is longer than 65535 octets`);
    },
    canonical: (rdata) => rdata,
    duplicateKey: (rdata) => rdata,
    names: () => NO_NAMES,
    fromApi(input) {
      try {
        const rdata = parse(new Tokens(tokenizeRdata(latin1Text(octetsOfText(input.content ?? '')))));
        return { rdata, content: printUnknownForm(rdata) };
      } catch (error) {
        if (!(error instanceof PresentationError)) throw error;
        throw new RdataError(`Content for ${mnemonic} record is invalid: ${error.message}.`, '/content');
      }
    },
    toApi: (_rdata, content) => ({ content }),
    contentOf: printUnknownForm,
  };
}

/** The data of a record as people type it: as in a zone file of the zone, with whole names also without their final dot. */
import { equalBytes } from '../../base/bytes.js';
import { UserError } from '../../base/errors.js';
import type { RecordInput } from '../../control/records/records.js';
import type { ZoneItem } from '../../control/zones/item.js';
import { parseName, ROOT } from '../../dns/name.js';
import { PresentationError, type Token, TokenCursor } from '../../dns/presentation.js';
import { typeByMnemonic } from '../../dns/rr/registry.js';
import { tokenizeRdata } from '../../dns/rr/tokens.js';
import { RdataError, type RRType } from '../../dns/rr/type.js';

/** Types whose data begins with a priority that the API keeps apart (v4: §6). */
const WITH_PRIORITY: ReadonlySet<string> = new Set(['MX', 'SRV', 'URI']);
const LEADING_NUMBER = /^(\d{1,5})\s+(.+)$/;

/**
 * The members of a record that its data makes. A name of one label is relative to the zone, as in its file; one of several
 * labels is whole, with or without a final dot. Throws a UserError for an MX without priority.
 */
export function readContent(zone: ZoneItem, mnemonic: string, text: string, priority: number | undefined): RecordInput {
  const split = WITH_PRIORITY.has(mnemonic) ? LEADING_NUMBER.exec(text) : null;
  const rank = split ? Number(split[1]) : priority;
  if (mnemonic === 'MX' && rank === undefined) {
    if (/^\d+$/.test(text)) {
      throw new UserError('an MX record needs a mail server', `Write it behind the priority: MX ${text} mail`, 2);
    }
    throw new UserError('an MX record needs a priority', `Write it in front: MX 10 ${text}`, 2);
  }
  const rest = split ? split[2]! : text;
  const type = typeByMnemonic(mnemonic);
  const whole = type && wholeNames(type, rank === undefined ? rest : `${rank} ${rest}`, `${zone.asciiName}.`);
  const content = whole === undefined ? rest : rank === undefined ? whole : whole.slice(`${rank} `.length);
  return { type: mnemonic, content, ...(rank === undefined ? {} : { priority: rank }) };
}

/** The data with its single labels made whole; undefined when it has none, or is not data of the type (others say why). */
function wholeNames(type: RRType, text: string, zone: string): string | undefined {
  try {
    const tokens = tokenizeRdata(text);
    const [inZone, atRoot] = [parse(type, tokens, parseName(zone)), parse(type, tokens, ROOT)];
    if (equalBytes(inZone, atRoot)) return undefined;
    return type.print(parse(type, tokens.map(withFinalDot), parseName(zone)));
  } catch (error) {
    if (error instanceof PresentationError || error instanceof RdataError) return undefined;
    throw error;
  }
}

function parse(type: RRType, tokens: readonly Token[], origin: Uint8Array): Uint8Array {
  return type.parse(new TokenCursor(tokens), origin);
}

function withFinalDot(token: Token): Token {
  const isWhole = !token.quoted && /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)+$/i.test(token.text) && !/^[\d.]+$/.test(token.text);
  return isWhole ? { ...token, text: `${token.text}.` } : token;
}

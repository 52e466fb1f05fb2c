/** What several screens say about a zone. */
import type { Zone } from '../types.js';
import { unicodeLabel } from './punycode.js';

/** A zone's name in ASCII, as the names of its records end. */
export function asciiName({ name }: Pick<Zone, 'name'>): string {
  return name.split('.').map(asciiLabel).join('.');
}

/** The browser converts names of hosts only: other labels, such as `0/25` of reverse zones (RFC 2317 §4), stay as they are. */
function asciiLabel(label: string): string {
  const isAscii = /^[\u0020-\u007e]*$/.test(label);
  return !isAscii && URL.canParse(`http://${label}`) ? new URL(`http://${label}`).hostname : label;
}

/** A label may have the lower-case letters of one of these groups. People cannot tell labels apart that mix others (UTS #39 §5.2). */
const ALPHABETS = [
  /^[a-zß-öø-ıĳ-ķĺ-žḁ-ỿ]+$/,
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+$/u,
  /^[\p{Script=Han}\p{Script=Hangul}]+$/u,
  ...['Arabic', 'Armenian', 'Cyrillic', 'Devanagari', 'Georgian', 'Greek', 'Hebrew', 'Thai'].map(
    (script) => new RegExp(`^[\\p{Script=${script}}\\p{M}]+$`, 'u'),
  ),
];
/** Letters that look like Latin ones. A label that has no others is easily mistaken for a Latin one (UTS #39 §4). */
const LOOK_LATIN = /^[асԁеһіјӏорԛѕԝхуъьҽпгѵѡοαγικρστυχνω]+$/;

function isUnambiguous(label: string): boolean {
  const letters = label.replaceAll(/[\d-]/g, '');
  return ALPHABETS.some((alphabet) => alphabet.test(letters)) && !LOOK_LATIN.test(letters) && !letters.includes('ı');
}

/** A name for people: in Unicode where it is unambiguous, as browsers do it, otherwise in ASCII. */
export function shownName({ name }: Pick<Zone, 'name'>): string {
  return name.split('.').map(shownLabel).join('.');
}

function shownLabel(given: string): string {
  const label = unicodeLabel(given);
  if (/^[\0-\x7f]*$/.test(label)) return label;
  const ascii = asciiLabel(label);
  // What the browser would encode otherwise is another label.
  const isSame = given === label || given === ascii;
  if (isSame && isUnambiguous(label)) return label;
  return isSame ? ascii : given;
}

/** For `title`: the name as it is served, where another one is shown. */
export function servedName(zone: Pick<Zone, 'name'>): string | undefined {
  const ascii = asciiName(zone);
  return ascii === shownName(zone) ? undefined : ascii;
}

const WORDS: Readonly<Record<Zone['status'], string>> = {
  active: 'Active',
  pending: 'Waits for its delegation',
  initializing: 'Being set up',
  moved: 'Delegated elsewhere',
};

/** What is wrong with the copy of a zone from other primaries; a copy that is current says nothing. */
const COPIES: Readonly<Record<string, string>> = {
  waiting: 'Never transferred',
  expired: 'Expired',
  failing: 'Not refreshed',
};

export function Status({ zone: { status, paused, meta } }: { readonly zone: Zone }) {
  const copy = COPIES[meta.transfer_state ?? ''];
  if (copy !== undefined && status === 'active' && !paused) {
    return <span class={`chip ${meta.transfer_state === 'failing' ? 'wait' : 'bad'}`}>{copy}</span>;
  }
  const good = status === 'active' && !paused;
  return <span class={`chip ${good ? 'good' : 'wait'}`}>{paused ? 'Paused' : WORDS[status]}</span>;
}

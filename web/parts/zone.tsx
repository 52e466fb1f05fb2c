/** What several screens say about a zone. */
import type { Zone } from '../types.js';

/** A zone's name in ASCII, as the names of its records end. */
export function asciiName({ name }: Pick<Zone, 'name'>): string {
  return name.split('.').map(asciiLabel).join('.');
}

/** The browser converts names of hosts only: other labels, such as `0/25` of reverse zones (RFC 2317 §4), stay as they are. */
function asciiLabel(label: string): string {
  const isAscii = /^[\u0020-\u007e]*$/.test(label);
  return !isAscii && URL.canParse(`http://${label}`) ? new URL(`http://${label}`).hostname : label;
}

const WORDS: Readonly<Record<Zone['status'], string>> = {
  active: 'Active',
  pending: 'Waits for its delegation',
  initializing: 'Being set up',
  moved: 'Delegated elsewhere',
};

export function Status({ zone }: { readonly zone: Zone }) {
  const good = zone.status === 'active' && !zone.paused;
  return <span class={`chip ${good ? 'good' : 'wait'}`}>{zone.paused ? 'Paused' : WORDS[zone.status]}</span>;
}

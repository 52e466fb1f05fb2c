/** What several screens say about a zone. */
import type { Zone } from '../types.js';

/** A zone's name in ASCII, as the names of its records end. */
export function asciiName({ name }: Pick<Zone, 'name'>): string {
  return URL.canParse(`http://${name}`) ? new URL(`http://${name}`).hostname : name;
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

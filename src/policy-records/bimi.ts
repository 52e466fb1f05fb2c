/** BIMI: the logo of a sender (draft-brand-indicators-for-message-identification §4.3). */
import { isDmarc } from './dmarc.js';
import { LONGEST_TEXT, type PolicyFault, quoted } from './fault.js';
import type { KnownNames } from './known.js';
import { readTags } from './tag-list.js';

export function isBimi(text: string): boolean {
  return /^v[ \t]*=[ \t]*BIMI1[ \t]*(?:;|$)/.test(text);
}

export function bimiFaults(text: string, name: string, known: KnownNames): PolicyFault[] {
  const what = `the BIMI record at ${name}`;
  const fault = (said: string, remedy: string): PolicyFault => ({ code: 'bimi', text: said, remedy });
  if (!isBimi(text))
    return [
      fault(`${what} does not begin with v=BIMI1, so receivers ignore it`, 'Begin it with v=BIMI1; in this spelling.'),
    ];
  const list = readTags(text, what, 'bimi');
  if ('code' in list) return [list];
  const logo = list.tags.get('l');
  if (logo === undefined)
    return [
      fault(`${what} has no l=`, 'Add l= with the https: URL of an SVG file; an empty l= says that there is no logo.'),
    ];
  const faults: PolicyFault[] = [];
  for (const [tag, value] of [
    ['l', logo],
    ['a', list.tags.get('a') ?? ''],
  ] as const) {
    if (value === '' || value === 'self' || /^https:\/\/[^\s/,]\S*$/i.test(value)) continue;
    faults.push(
      fault(
        `${what} says ${tag}=${quoted(value)}, and receivers read only https: URLs`,
        `Write one https: URL behind ${tag}=.`,
      ),
    );
  }
  return logo === ''
    ? faults
    : [...faults, ...enforcement(name.slice(name.indexOf('_bimi.') + '_bimi.'.length), known)];
}

/** Receivers show a logo only for domains whose DMARC policy is enforced. */
function enforcement(domain: string, known: KnownNames): PolicyFault[] {
  for (let at = domain; at.includes('.'); at = at.slice(at.indexOf('.') + 1)) {
    const texts = known.texts(`_dmarc.${at}`);
    if (texts === undefined) return [];
    const record = texts.find((text) => isDmarc(text));
    if (record === undefined) continue;
    if (record.length > LONGEST_TEXT) return [];
    const list = readTags(record, '', '');
    if ('code' in list) return [];
    const { tags } = list;
    const policy = (at === domain ? tags.get('p') : (tags.get('sp') ?? tags.get('p')))?.toLowerCase();
    if (policy !== 'none' && Number(tags.get('pct') ?? 100) === 100) return [];
    return [
      {
        code: 'bimi',
        text: `receivers show no logo for ${domain} as long as the DMARC policy at _dmarc.${at} is not enforced for all of its mail`,
        remedy: `Write p=quarantine or p=reject at _dmarc.${at}, without pct=.`,
      },
    ];
  }
  return [];
}

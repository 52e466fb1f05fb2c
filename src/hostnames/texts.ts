/** What customers read about their hostnames: wire data, word for word (edge specification §3.6). */

export const HELD =
  'The hostname is associated with a held zone. Please contact the owner of this domain to have the hold removed.';
export const NOT_POINTED = 'custom hostname does not CNAME to this zone.';
export const TAKEN =
  'custom hostname is verified for another zone, and what proves that is still there. A CNAME that leads only to this zone moves it here.';
export const NOT_PROVEN =
  'custom hostname leads to this zone, but nothing shows yet that the name of this zone is its own.';
export const NO_FALLBACK_ORIGIN = 'zone does not have a fallback origin set.';
/** What the texts about a missing fallback origin have in common. */
export const FALLBACK_ORIGIN = 'fallback origin';
export const NO_OWN_ADDRESS =
  'None of the A or AAAA records are owned by this account and the pre-generated ownership validation token was not found.';
export const FALLBACK_RECORD_MISSING =
  'DNS records are not setup correctly. Origin should be a proxied A/AAAA/CNAME dns record';

const CUSTOM_ORIGIN = 'custom origin server ';

/** Where each hostname must lead to a name of its own. */
export function notPointedTo(target: string): string {
  return `custom hostname does not CNAME to ${target}.`;
}

export function fallbackOriginStatus(status: string): string {
  return `fallback origin is in a status of ${status}.`;
}

export function customOriginMissing(origin: string): string {
  return `${CUSTOM_ORIGIN}${origin} is not a record of this zone.`;
}

/** Whether a text is about the server that gets the requests, not about the name. */
export function isOriginFault(text: string): boolean {
  return (
    text === NO_FALLBACK_ORIGIN ||
    text.startsWith(fallbackOriginStatus('').slice(0, -1)) ||
    text.startsWith(CUSTOM_ORIGIN)
  );
}

export function unresolved(hostname: string, why: 'servfail' | 'timeout'): string {
  return `could not resolve ${hostname}: ${why === 'servfail' ? 'SERVFAIL' : 'timeout'}.`;
}

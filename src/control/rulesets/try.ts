/** Tries the rules of a zone with a request that nobody sends. */
import { parseIP } from '../../base/ip.js';
import { TooMuchWork } from '../../expressions/work.js';
import { isHeaderName, isHeaderValue } from '../../rulesets/header-names.js';
import { type Trial, tryRules } from '../../rulesets/try.js';
import { compileZone } from '../../rulesets/zone-rules.js';
import { zoneSettings } from '../../serving/zone-settings.js';
import { rulesetsOfZone } from '../../store/edge/rulesets.js';
import { requireZone } from '../guard/access.js';
import type { Context } from '../kernel/context.js';
import { type KeptUnder, requirePhase } from './access.js';
import { invalid } from './errors.js';

/** A request, as somebody describes it. */
export interface TriedRequest {
  readonly url: string;
  readonly method: string;
  /** `Name: value` each. */
  readonly headers: readonly string[];
  readonly client: string;
  /** Two letters; undefined: not known. */
  readonly country: string | undefined;
  /** The status of the response that the origin would give. */
  readonly status: number;
}

const LONGEST_URL = 8192;

/** Throws 403 unless the actor may read every rule that could play a part. */
export async function tryRulesOfZone(ctx: Context, zoneId: string, tried: TriedRequest): Promise<Trial> {
  const { store, actor, clock } = ctx;
  const zone = requireZone({ store, actor }, zoneId);
  const sets = rulesetsOfZone(store, zone.seq);
  for (const { phase } of sets) requirePhase(ctx, zone, phase as KeptUnder, 'read');
  const url = readUrl(tried.url);
  if (!parseIP(tried.client)) throw invalid('/client', 'client must be an IP address');
  const request = {
    ...{ ray: '0000000000000000', method: tried.method.toUpperCase(), httpVersion: '1.1', client: tried.client },
    scheme: url.protocol === 'https:' ? ('https' as const) : ('http' as const),
    host: url.hostname.toLowerCase().replace(/\.$/, ''),
    target: `${url.pathname}${url.search}`,
    headers: ['host', url.host, ...tried.headers.flatMap(readHeader)],
  };
  const surroundings = { zone: zone.name, nowMs: () => clock.nowMs(), country: () => tried.country?.toUpperCase() };
  const usesHttps = zoneSettings(store, zone).always_use_https === 'on';
  try {
    const options = { rules: compileZone(sets), surroundings, usesHttps };
    return tryRules(options, request, { status: tried.status, headers: [] });
  } catch (error) {
    if (error instanceof TooMuchWork) throw invalid('/url', 'the rules of the zone take too long for this request');
    throw error;
  }
}

function readUrl(text: string): URL {
  const isKnown = text.length <= LONGEST_URL && /^https?:\/\//i.test(text) && URL.canParse(text);
  if (!isKnown) throw invalid('/url', 'url must begin with http:// or https://');
  return new URL(text);
}

function readHeader(text: string): [string, string] {
  const colon = text.indexOf(':');
  const [name, value] = [text.slice(0, Math.max(0, colon)).toLowerCase(), text.slice(colon + 1).trimStart()];
  if (isHeaderName(name) && isHeaderValue(value)) return [name, value];
  throw invalid('/header', 'a header must have a name, a colon and a value');
}

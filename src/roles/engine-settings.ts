/** The answer engine's settings, and its own metrics. */
import { createRateMemory, type RateLimitSettings, readRateTally } from '../answer/rate-limit.js';
import { DEFAULT_ENGINE_SETTINGS, type EngineSettings } from '../answer/state.js';
import { parseNetwork } from '../base/ip.js';
import type { MetricSample } from '../base/metrics.js';
import { systemRandom } from '../base/random.js';
import type { Settings } from '../config/schema.js';
import { codeOf } from '../steering/layout.js';

/** What `version.bind` answers: the program, without the number, which would tell strangers its known faults. */
const VERSION = 'Zoneplane';

export function engineSettings(settings: Settings): EngineSettings {
  return {
    ...DEFAULT_ENGINE_SETTINGS,
    version: VERSION,
    identity: settings.dnsIdentity,
    cookieSecrets: cookieSecretsOf(settings),
    requireCookies: settings.cookiePolicy === 'require',
    rateLimit: rateLimitOf(settings),
    echoesSubnets: settings.ecs === 'on',
    own: { pop: codeOf(settings.locationCode ?? ''), region: codeOf(settings.region ?? '') },
  };
}

/** Without a configured secret, cookies are valid until the next start; clients get a new one with the first answer. */
function cookieSecretsOf({ cookieSecret }: Settings): readonly Uint8Array[] {
  const given = cookieSecret.map((text) => new Uint8Array(Buffer.from(text, 'hex')));
  return given.length > 0 ? given : [new Uint8Array(systemRandom.bytes(16))];
}

/** Undefined when answers are not limited. */
function rateLimitOf({
  dnsRateLimit: rate,
  dnsRateSlip: slip,
  dnsRateExempt,
}: Settings): RateLimitSettings | undefined {
  if (rate === 0) return undefined;
  const exempt = dnsRateExempt.flatMap((text) => parseNetwork(text) ?? []);
  const seed = Buffer.from(systemRandom.bytes(4)).readInt32LE();
  return { rate, slip, exempt, memory: createRateMemory(), seed };
}

/** Counts of dropped and truncated answers; empty when answers are not limited. */
export function engineSamples({ rateLimit }: EngineSettings): MetricSample[] {
  if (!rateLimit) return [];
  const help = 'UDP answers beyond the rate limit, by action';
  return Object.entries(readRateTally(rateLimit.memory)).map(([action, value]) => {
    return { name: 'dns_rate_limited_total', type: 'counter', help, labels: { action }, value };
  });
}

/**
 * The rules of zones at the edge: each zone's are compiled when they are asked for, and kept until the zone changes. What they do to an
 * exchange is decided by rulesets/.
 */
import type { Clock } from '../../base/clock.js';
import { parsePeerAddress } from '../../base/ip.js';
import { FairCache } from '../../base/lists/fair-cache.js';
import { TooMuchWork } from '../../expressions/work.js';
import type { RoutedZone } from '../../hostnames/routing/find-route.js';
import { changedHeaders, redirectBy, rewrittenTarget } from '../../rulesets/apply.js';
import { type PageMatch, pageRuleOf } from '../../rulesets/page-rule.js';
import { type RuleSurroundings, Subject } from '../../rulesets/subject.js';
import { compileZone, type ZoneRules } from '../../rulesets/zone-rules.js';
import { textOfCode } from '../../steering/layout.js';
import type { Store } from '../../store/driver.js';
import { rulesetsOfZone } from '../../store/edge/rulesets.js';
import { type Failure, failureOf } from '../error-pages/failures.js';
import type { EdgeRequest, HeaderList } from '../exchange/exchange.js';
import { createWorkShares } from './work-shares.js';

export interface EdgeRulesOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** The country of a client, as a number (steering/layout.ts); 0: not known. */
  readonly country?: ((address: Uint8Array) => number) | undefined;
  /** Of compiled rules to keep, as they are stored. */
  readonly mostOctets?: number;
}

export interface EdgeRules {
  /** What the rules of the zone do with a request; undefined: it has none. */
  begin(request: EdgeRequest, zone: RoutedZone): RuledRequest | undefined;
  hasRules(zone: RoutedZone): boolean;
  forgetZone(zone: number): void;
  /** Whatever is asked for next is compared with what is stored. */
  forgetAll(): void;
}

/** Of rules to keep, as they are stored; compiled, they take some ten times as much. The account that has most loses first. */
const MOST_OCTETS = 32 * 1024 * 1024;
/** For a zone without rules. */
const OVERHEAD = 1024;

interface Kept {
  readonly rules: ZoneRules | undefined;
  /** Which state of the zone's sets was compiled, and when it was last known to be the current one. */
  readonly tag: string;
  generation: number;
  readonly surroundings: RuleSurroundings;
}

export function createEdgeRules(options: EdgeRulesOptions): EdgeRules {
  const { store, clock, country, mostOctets = MOST_OCTETS } = options;
  const zones = new FairCache<number, number, Kept>(mostOctets);
  let generation = 0;
  const countryOf = (client: string): string | undefined => {
    const address = country && parsePeerAddress(client);
    const code = address ? country(address) : 0;
    return code === 0 ? undefined : textOfCode(code);
  };

  function read({ seq, account, name: zone }: RoutedZone): Kept {
    const kept = zones.get(seq);
    if (kept?.generation === generation) return kept;
    const sets = rulesetsOfZone(store, seq);
    const tag = sets.map((set) => `${set.seq} ${set.version} ${set.modified_at}`).join();
    if (kept?.tag === tag) {
      kept.generation = generation;
      return kept;
    }
    const octets = sets.reduce((sum, set) => sum + set.octets, OVERHEAD);
    const made = {
      rules: compileZone(sets),
      ...{ tag, generation },
      surroundings: { zone, nowMs: () => clock.nowMs(), country: countryOf },
    };
    zones.set(account, seq, made, octets);
    return made;
  }

  const shares = createWorkShares(clock);
  const accountOf = ({ account }: RoutedZone): WorkAccount => ({
    most: shares.of(account),
    took: (units) => shares.took(account, units),
  });

  return {
    begin(request, zone) {
      const { rules, surroundings } = read(zone);
      return rules && new RuledRequest(rules, request, surroundings, accountOf(zone));
    },
    hasRules: (zone) => read(zone).rules !== undefined,
    forgetZone: (zone) => zones.delete(zone),
    // Any account can cause it, by adding a zone: what did not change is not compiled again.
    forgetAll: () => void generation++,
  };
}

/** Where a rule leads a client. */
interface Elsewhere {
  readonly status: number;
  readonly location: string;
}

/** What happens to a request to a zone that has rules. */
export type Ruled =
  | { readonly elsewhere: Elsewhere }
  | { readonly failure: Failure }
  /** `settings` hold for this request instead of the zone's; the same object for each page rule. */
  | { readonly request: EdgeRequest; readonly settings: Readonly<Record<string, unknown>> | undefined };

/** Every step before the cache and the origin. A request for which the rules take too long is not answered as if there were no rules. */
export function applyRules(ruled: RuledRequest): Ruled {
  try {
    const elsewhere = ruled.redirect();
    return elsewhere ? { elsewhere } : { request: ruled.forward(), settings: ruled.settings };
  } catch (error) {
    if (error instanceof TooMuchWork) return { failure: tooMuchWork() };
    throw error;
  } finally {
    ruled.settle();
  }
}

export function tooMuchWork(): Failure {
  return failureOf('rules', 'the rules of the zone take too long', 'Use fewer or simpler expressions.');
}

/** What the rules may take for one request, and again for its response. */
interface WorkAccount {
  readonly most: number;
  took(units: number): void;
}

/** A request to a zone that has rules. */
export class RuledRequest {
  private readonly subject: Subject;
  private pageRule: PageMatch | undefined;

  constructor(
    private readonly rules: ZoneRules,
    private readonly request: EdgeRequest,
    surroundings: RuleSurroundings,
    private readonly account: WorkAccount,
  ) {
    this.subject = new Subject(request, surroundings, account.most);
  }

  /** Call once after the steps before the response. */
  settle(): void {
    this.account.took(this.account.most - this.subject.work);
  }

  /** The first step. */
  redirect(): Elsewhere | undefined {
    const redirect = redirectBy(this.rules, this.subject);
    if (redirect) return redirect;
    this.pageRule = pageRuleOf(this.rules.pages, this.subject);
    const location = this.pageRule?.location;
    return location === undefined ? undefined : { status: this.pageRule!.rule.forward!.status, location };
  }

  /** After {@link redirect}: settings that hold for this request instead of the zone's; the same object for each page rule. */
  get settings(): Readonly<Record<string, unknown>> | undefined {
    return this.pageRule?.rule.settings;
  }

  /** After {@link redirect}: the request as the cache and the origin see it; the same object if no rule matches. */
  forward(): EdgeRequest {
    const { rules, request, subject } = this;
    const target = rewrittenTarget(rules, subject);
    if (target !== request.target) subject.rewrite(target);
    const headers = changedHeaders(rules.requestHeaders, subject, request.headers);
    if (target === request.target && headers === request.headers) return request;
    return { ...request, target, headers };
  }

  /** What changes the fields of the response; undefined: no rule does. */
  get changeFields(): ((status: number, headers: HeaderList) => HeaderList) | undefined {
    const { responseHeaders } = this.rules;
    if (responseHeaders.length === 0) return undefined;
    return (status, headers) => {
      this.subject.answered({ status, headers });
      try {
        return changedHeaders(responseHeaders, this.subject, headers);
      } finally {
        this.settle();
      }
    };
  }
}

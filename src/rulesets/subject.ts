/** What the expressions of rules examine: a request, and what follows from it, worked out when it is first needed. */
import { parseIP } from '../base/ip.js';
import { lowerAscii } from '../expressions/wildcards.js';
import { spend } from '../expressions/work.js';

/** A request as rules know it. */
export interface RuleRequest {
  readonly ray: string;
  readonly method: string;
  readonly scheme: 'http' | 'https';
  /** Lower case, without final dot and port. */
  readonly host: string;
  /** Path and query. */
  readonly target: string;
  readonly httpVersion: string;
  /** Alternating names (lower case) and values. */
  readonly headers: readonly string[];
  /** The client's address. */
  readonly client: string;
}

export interface RuleResponse {
  readonly status: number;
  /** As of requests. */
  readonly headers: readonly string[];
}

/** Where the rules are applied. */
export interface RuleSurroundings {
  /** The name of the zone. */
  readonly zone: string;
  nowMs(): number;
  /** Two letters; undefined: not known. */
  country(client: string): string | undefined;
}

/** Units of work (expressions/work.ts) for a request, and again for its response: some milliseconds. */
export const MOST_WORK = 16_000_000;

export class Subject {
  /** What is left of it. */
  work: number;
  /** After a rewrite, it differs from the one that the client asked for. */
  target: string;
  response: RuleResponse | undefined;
  private keptArgs: URLSearchParams | undefined;
  private keptCookies: ReadonlyMap<string, readonly string[]> | undefined;
  private keptUri: string | undefined;
  private keptAt: number | undefined;
  private keptPath: string | undefined;
  private keptQuery: string | undefined;
  private keptAddress: Uint8Array | undefined;
  private keptCountry: readonly [string | undefined] | undefined;

  constructor(
    readonly request: RuleRequest,
    readonly surroundings: RuleSurroundings,
    private readonly mostWork = MOST_WORK,
  ) {
    this.work = mostWork;
    this.target = request.target;
  }

  /** For what comes after the rules that rewrite it. */
  rewrite(target: string): void {
    this.target = target;
    this.keptUri = undefined;
    this.keptAt = undefined;
    this.keptPath = undefined;
    this.keptQuery = undefined;
    this.keptArgs = undefined;
  }

  get path(): string {
    this.keptPath ??= this.target.slice(0, this.queryAt);
    return this.keptPath;
  }

  get query(): string {
    this.keptQuery ??= this.target.slice(this.queryAt + 1);
    return this.keptQuery;
  }

  get args(): URLSearchParams {
    this.keptArgs ??= parsedQuery(this.query);
    return this.keptArgs;
  }

  get cookies(): ReadonlyMap<string, readonly string[]> {
    this.keptCookies ??= parsedCookies(this.request.headers);
    return this.keptCookies;
  }

  /** Of the client. */
  get address(): Uint8Array | undefined {
    this.keptAddress ??= parseIP(this.request.client);
    return this.keptAddress;
  }

  get country(): string | undefined {
    this.keptCountry ??= [this.surroundings.country(this.request.client)];
    return this.keptCountry[0];
  }

  /** For the rules about a response. */
  answered(response: RuleResponse): void {
    this.response = response;
    this.work = this.mostWork;
  }

  get fullUri(): string {
    this.keptUri ??= `${this.request.scheme}://${this.request.host}${this.target}`;
    return this.keptUri;
  }

  private get queryAt(): number {
    this.keptAt ??= pathEnd(this.target);
    return this.keptAt;
  }
}

/** Where the path of a target ends. */
export function pathEnd(target: string): number {
  const at = target.indexOf('?');
  return at < 0 ? target.length : at;
}

/** Units of work for each text of a list. */
const LOOKING = 8;

/** The values of a field; undefined: there is none. `name`: in any case. */
export function fieldValues(headers: readonly string[], name: string): string[] | undefined {
  const wanted = lowerAscii(name);
  let values: string[] | undefined;
  spend(headers.length * LOOKING);
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] !== wanted) continue;
    values ??= [];
    values.push(headers[i + 1]!);
  }
  return values;
}

/** Units of work for each character. */
const PARSING_QUERY = 512;
const PARSING_COOKIES = 128;

export function parsedQuery(query: string): URLSearchParams {
  spend(query.length * PARSING_QUERY);
  return new URLSearchParams(query);
}

function parsedCookies(headers: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const cookies = new Map<string, string[]>();
  for (const line of fieldValues(headers, 'cookie') ?? []) {
    spend(line.length * PARSING_COOKIES);
    for (const pair of line.split(';')) {
      const at = pair.indexOf('=');
      if (at < 0) continue;
      const name = pair.slice(0, at).trim();
      const known = cookies.get(name);
      if (known) known.push(pair.slice(at + 1).trim());
      else cookies.set(name, [pair.slice(at + 1).trim()]);
    }
  }
  return cookies;
}

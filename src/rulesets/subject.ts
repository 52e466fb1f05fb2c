/** What the expressions of rules examine: a request, and what follows from it once it is asked for. */
import { lowerAscii } from '../expressions/wildcards.js';

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

export class Subject {
  /** After a rewrite, another one than the client asked for. */
  target: string;
  response: RuleResponse | undefined;
  private keptUri: string | undefined;
  private keptAt: number | undefined;
  private keptPath: string | undefined;
  private keptQuery: string | undefined;

  constructor(
    readonly request: RuleRequest,
    readonly surroundings: RuleSurroundings,
  ) {
    this.target = request.target;
  }

  /** For what comes after the rules that rewrite it. */
  rewrite(target: string): void {
    this.target = target;
    this.keptUri = undefined;
    this.keptAt = undefined;
    this.keptPath = undefined;
    this.keptQuery = undefined;
  }

  get path(): string {
    this.keptPath ??= this.target.slice(0, this.queryAt);
    return this.keptPath;
  }

  get query(): string {
    this.keptQuery ??= this.target.slice(this.queryAt + 1);
    return this.keptQuery;
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

/** The values of a field; undefined: there is none. `name`: in any case. */
export function fieldValues(headers: readonly string[], name: string): string[] | undefined {
  const wanted = lowerAscii(name);
  let values: string[] | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] !== wanted) continue;
    values ??= [];
    values.push(headers[i + 1]!);
  }
  return values;
}

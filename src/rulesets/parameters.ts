/** Reads the parameters of actions: what is not understood is refused, and what is understood can be applied. */
import { compileText } from '../expressions/compile.js';
import type { FieldTable } from '../expressions/fields.js';
import { DEFAULT_LIMITS, type ExpressionLimits } from '../expressions/limits.js';
import { hasControls, type Members, objectOf, RuleFault } from './fault.js';
import { REQUEST_FIELDS, RESPONSE_FIELDS } from './fields.js';
import { faultOfHeader, type HeaderOperation, type HeaderSide, isHeaderValue, LONGEST_VALUE } from './header-names.js';
import type { Phase } from './phases.js';
import type { Subject } from './subject.js';
import { LONGEST_URL, safeLocation, safePath, safeQuery, withQuery } from './urls.js';

export type TextOf = (subject: Subject) => string | undefined;

export interface HeaderChange {
  /** In lower case. */
  readonly name: string;
  readonly operation: HeaderOperation;
  /** Undefined, also as a value: the field is removed. */
  readonly of: TextOf;
}

/** What a rule does to a request that it matches. */
export type Action =
  | { readonly kind: 'redirect'; readonly status: number; readonly location: TextOf }
  | { readonly kind: 'uri'; readonly path: TextOf | undefined; readonly query: TextOf | undefined }
  | { readonly kind: 'headers'; readonly changes: readonly HeaderChange[] };

const STATUSES: readonly unknown[] = [301, 302, 303, 307, 308];
const MOST_HEADERS = 30;

/** Of expressions of rules. */
export const RULE_LIMITS: ExpressionLimits = { ...DEFAULT_LIMITS, calls: 64 };

/** The fields that expressions of a phase may use. */
export function fieldsOf(phase: Phase): FieldTable<Subject> {
  return phase === 'http_response_headers_transform' ? RESPONSE_FIELDS : REQUEST_FIELDS;
}

/** Throws {@link RuleFault}, with pointers from the rule. */
export function readParameters(phase: Phase, parameters: unknown): Action {
  const at = '/action_parameters';
  if (parameters === undefined || parameters === null) {
    throw new RuleFault(at, 'action parameters are required for this action');
  }
  switch (phase) {
    case 'http_request_dynamic_redirect':
      return redirectOf(objectOf(parameters, at, ['from_value']), at);
    case 'http_request_transform':
      return transformOf(objectOf(parameters, at, ['uri']), at);
    default: {
      const side = phase === 'http_request_late_transform' ? 'request' : 'response';
      return headersOf(objectOf(parameters, at, ['headers']), side, fieldsOf(phase), `${at}/headers`);
    }
  }
}

/** One of `value` and `expression`. */
function textOf(
  members: Members,
  at: string,
  fields: FieldTable<Subject>,
  check: (value: string) => string | undefined,
): TextOf {
  const { value, expression } = members;
  if ((value === undefined) === (expression === undefined)) {
    throw new RuleFault(at, 'either value or expression is needed');
  }
  if (value !== undefined) {
    if (typeof value !== 'string') throw new RuleFault(`${at}/value`, 'value must be a text');
    const fault = check(value);
    if (fault) throw new RuleFault(`${at}/value`, fault);
    return () => value;
  }
  if (typeof expression !== 'string') throw new RuleFault(`${at}/expression`, 'expression must be a text');
  const made = compileText(expression, fields, RULE_LIMITS);
  if (!made.ok) throw new RuleFault(`${at}/expression`, `${made.fault.message} at offset ${made.fault.offset}`, true);
  return made.of;
}

function redirectOf({ from_value: value }: Members, parent: string): Action {
  const at = `${parent}/from_value`;
  const members = objectOf(value, at, ['status_code', 'target_url', 'preserve_query_string']);
  const { status_code: status = 301, preserve_query_string: keeps = false } = members;
  if (!STATUSES.includes(status)) {
    throw new RuleFault(`${at}/status_code`, `status_code must be one of ${STATUSES.join(', ')}`);
  }
  if (typeof keeps !== 'boolean') throw new RuleFault(`${at}/preserve_query_string`, 'it must be true or false');
  const target = objectOf(members.target_url, `${at}/target_url`, ['value', 'expression']);
  const of = textOf(target, `${at}/target_url`, REQUEST_FIELDS, (url) => faultOfTarget(url, keeps));
  return {
    kind: 'redirect',
    status: status as number,
    location: (subject) => {
      const text = of(subject);
      const location = text === undefined ? undefined : safeLocation(text);
      if (location === undefined || !keeps) return location;
      return safeLocation(withQuery(location, subject.request.target));
    },
  };
}

/** Why a text cannot be a fixed target; undefined if it can. */
export function faultOfTarget(url: string, keepsQuery: boolean): string | undefined {
  if (hasControls(url) || /[^\x21-\x7e]/.test(url)) return 'a URL must have neither spaces nor characters beyond ASCII';
  if (url.length > LONGEST_URL) return `a URL may have at most ${LONGEST_URL} characters`;
  if (safeLocation(url) !== url) return 'it is neither a URL that begins with http:// or https:// nor a path';
  if (!url.startsWith('/') && !URL.canParse(url)) return 'it is not a URL';
  return keepsQuery && url.includes('?') ? 'it has a query, so that of the request cannot be preserved' : undefined;
}

function transformOf({ uri }: Members, parent: string): Action {
  const at = `${parent}/uri`;
  const members = objectOf(uri, at, ['path', 'query', 'origin']);
  if (members.origin !== undefined && members.origin !== true) {
    throw new RuleFault(`${at}/origin`, 'the origin always gets the rewritten URI');
  }
  if (members.path === undefined && members.query === undefined) throw new RuleFault(at, 'uri needs a path or a query');
  const part = (name: 'path' | 'query', check: (value: string) => string | undefined): TextOf | undefined => {
    if (members[name] === undefined) return undefined;
    return textOf(
      objectOf(members[name], `${at}/${name}`, ['value', 'expression']),
      `${at}/${name}`,
      REQUEST_FIELDS,
      check,
    );
  };
  const path = part('path', (value) =>
    safePath(value) === value
      ? undefined
      : 'a path must begin with / and have neither ? nor #, nor spaces, nor characters beyond ASCII',
  );
  const query = part('query', (value) =>
    safeQuery(value) === value ? undefined : 'a query must have neither # nor spaces nor characters beyond ASCII',
  );
  return { kind: 'uri', path, query };
}

function headersOf({ headers }: Members, side: HeaderSide, fields: FieldTable<Subject>, at: string): Action {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    throw new RuleFault(at, 'headers must be an object with the names of fields');
  }
  const entries = Object.entries(headers);
  if (entries.length === 0 || entries.length > MOST_HEADERS) {
    throw new RuleFault(at, `headers must have 1 to ${MOST_HEADERS} fields`);
  }
  const changes = entries.map(([name, change]) => changeOf(name, change, side, fields, `${at}/${name.slice(0, 100)}`));
  const names = new Set(changes.map(({ name }) => name));
  if (names.size < changes.length) throw new RuleFault(at, 'headers has the same field twice');
  return { kind: 'headers', changes };
}

function changeOf(
  written: string,
  change: unknown,
  side: HeaderSide,
  fields: FieldTable<Subject>,
  at: string,
): HeaderChange {
  const members = objectOf(change, at, ['operation', 'value', 'expression']);
  const { operation } = members;
  if (operation !== 'set' && operation !== 'add' && operation !== 'remove') {
    throw new RuleFault(`${at}/operation`, 'operation must be set, add or remove');
  }
  const name = written.toLowerCase();
  const fault = faultOfHeader(side, operation, name);
  if (fault) throw new RuleFault(at, `${operation} of ${JSON.stringify(written.slice(0, 100))}: ${fault}`);
  if (operation === 'remove') {
    objectOf(change, at, ['operation']);
    return { name, operation, of: () => undefined };
  }
  const check = (value: string): string | undefined =>
    value !== '' && isHeaderValue(value)
      ? undefined
      : `a value must have 1 to ${LONGEST_VALUE} printable characters of ASCII, and no line breaks`;
  const of = textOf(members, at, fields, check);
  return { name, operation, of };
}

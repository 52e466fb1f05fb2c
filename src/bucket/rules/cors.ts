/** Which CORS rules a bucket may have; http/cors.ts says what they do. */
import { type CorsRule, headerFault, originFault } from '../../http/cors.js';
import { badRule, requireCount, ruleName } from './check.js';

const MOST_RULES = 100;
/** Origins, and names of headers, of all rules together: a request is compared with each of them. */
const MOST_PATTERNS = 1000;
/** Seconds. */
const LONGEST_MAX_AGE = 2_147_483_647;

export function checkCorsRules(rules: readonly CorsRule[]): void {
  requireCount(rules, MOST_RULES);
  let patterns = 0;
  for (const [index, { id, allowed, exposeHeaders = [], maxAgeSeconds }] of rules.entries()) {
    const name = ruleName(id, index);
    const { origins, methods, headers = [] } = allowed;
    if (origins.length === 0) throw badRule(`${name} allows no origin`);
    if (methods.length === 0) throw badRule(`${name} allows no method`);
    for (const origin of origins) refuse(name, 'origin', origin, originFault(origin));
    for (const header of [...headers, ...exposeHeaders]) refuse(name, 'header', header, headerFault(header));
    if (
      maxAgeSeconds !== undefined &&
      !(Number.isInteger(maxAgeSeconds) && maxAgeSeconds >= 0 && maxAgeSeconds <= LONGEST_MAX_AGE)
    ) {
      throw badRule(`the maximum age of ${name} must be a whole number of seconds, 0 to ${LONGEST_MAX_AGE}`);
    }
    patterns += origins.length + headers.length + exposeHeaders.length;
  }
  if (patterns > MOST_PATTERNS) throw badRule(`they have more than ${MOST_PATTERNS} origins and headers`);
}

function refuse(rule: string, what: string, value: string, fault: string | undefined): void {
  if (fault !== undefined)
    throw badRule(`the ${what} ${JSON.stringify(value.slice(0, 100))} of ${rule} is not valid: ${fault}`);
}

/** How the built-in authority finds out who controls a name: RFC 8555 §8.3 (http-01) and §8.4 (dns-01). */
import type { Resolver } from '../../resolver/resolve.js';
import { dnsChallengeValue, type Problem } from '../authority.js';

/**
 * The body at `http://<host>/.well-known/acme-challenge/<token>`; undefined when nothing could be fetched. Whoever gives the
 * function sees to it that it only goes where it may, and reads no more than is useful.
 */
export type FetchToken = (host: string, token: string) => Promise<string | undefined>;

/** Undefined when the TXT records at `_acme-challenge.` prove control, else why not. */
export async function validateByDns(
  resolver: Resolver,
  identifier: string,
  keyAuthorization: string,
): Promise<Problem | undefined> {
  const name = `_acme-challenge.${identifier}`;
  const expected = dnsChallengeValue(keyAuthorization);
  const { status, records, reason = status } = await resolver.resolve(name, 'TXT', { bypassCache: true });
  if (records.some(({ content }) => content === expected)) return undefined;
  if (status === 'servfail' || status === 'timeout') {
    return problem('dns', 400, `The TXT records of ${name} could not be looked up: ${reason}.`);
  }
  if (records.length === 0) return problem('dns', 400, `There is no TXT record at ${name}.`);
  return problem('unauthorized', 403, `No TXT record at ${name} has the value that was asked for.`);
}

/** Undefined when the answer of the name's web server proves control, else why not. */
export async function validateByHttp(
  fetchToken: FetchToken,
  identifier: string,
  token: string,
  keyAuthorization: string,
): Promise<Problem | undefined> {
  const url = `http://${identifier}/.well-known/acme-challenge/${token}`;
  const body = await fetchToken(identifier, token);
  if (body === undefined) return problem('connection', 400, `${url} could not be fetched.`);
  // Blanks at the end do not count (RFC 8555 §8.3).
  if (body.trimEnd() === keyAuthorization) return undefined;
  return problem('unauthorized', 403, `${url} does not answer with the key authorization.`);
}

function problem(type: string, status: number, detail: string): Problem {
  return { type, status, detail, subproblems: [] };
}

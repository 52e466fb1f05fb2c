/** Whether mail is sent to a domain over TLS only (MTA-STS, RFC 8461 §3.1), and to whom failures are reported (RFC 8460 §3). */
import { mailboxDomain } from './dmarc.js';
import { type PolicyFault, quoted } from './fault.js';
import type { KnownNames } from './known.js';
import { readTags } from './tag-list.js';

export function isMtaSts(text: string): boolean {
  return /^v=STSv1[ \t]*(?:;|$)/.test(text);
}

export function isTlsReporting(text: string): boolean {
  return /^v=TLSRPTv1[ \t]*(?:;|$)/.test(text);
}

export function mtaStsFaults(text: string, name: string, known: KnownNames): PolicyFault[] {
  const what = `the MTA-STS record at ${name}`;
  const fault = (said: string, remedy: string): PolicyFault => ({ code: 'mta-sts', text: said, remedy });
  if (!isMtaSts(text))
    return [
      fault(`${what} does not begin with v=STSv1, so senders ignore it`, 'Begin it with v=STSv1; in this spelling.'),
    ];
  const list = readTags(text, what, 'mta-sts');
  if ('code' in list) return [list];
  const faults: PolicyFault[] = [];
  const id = list.tags.get('id');
  if (id === undefined || !/^[A-Za-z0-9]{1,32}$/.test(id)) {
    const said =
      id === undefined
        ? `${what} has no id=`
        : `${what} says id=${quoted(id)}, which is not 1 to 32 letters and digits`;
    faults.push(
      fault(
        `${said}, so senders ignore it`,
        'Write id= with a number that grows with each change of the policy, such as id=20260101.',
      ),
    );
  }
  const host = name.replace('_mta-sts.', 'mta-sts.');
  if (known.count(host, 'address') === 0) {
    faults.push(
      fault(
        `senders fetch the MTA-STS policy from https://${host}/.well-known/mta-sts.txt, but ${host} has no address`,
        `Add an address for ${host}, and serve the policy there over HTTPS.`,
      ),
    );
  }
  return faults;
}

export function tlsReportingFaults(text: string, name: string): PolicyFault[] {
  const what = `the TLS reporting record at ${name}`;
  const fault = (said: string, remedy: string): PolicyFault => ({ code: 'tls-reporting', text: said, remedy });
  if (!isTlsReporting(text))
    return [
      fault(
        `${what} does not begin with v=TLSRPTv1, so senders ignore it`,
        'Begin it with v=TLSRPTv1; in this spelling.',
      ),
    ];
  const list = readTags(text, what, 'tls-reporting');
  if ('code' in list) return [list];
  const value = list.tags.get('rua');
  if (value === undefined)
    return [fault(`${what} has no rua=, so nobody gets reports`, 'Add rua=mailto: and an address.')];
  const bad = value
    .split(',')
    .map((uri) => uri.trim())
    .find((uri) => mailboxDomain(uri) === undefined && !/^https:\/\/[^\s/]/i.test(uri));
  return bad === undefined
    ? []
    : [
        fault(
          `${what} says rua=${quoted(bad)}, to which nobody sends reports`,
          'Write rua=mailto: and an address, or an https: URL.',
        ),
      ];
}

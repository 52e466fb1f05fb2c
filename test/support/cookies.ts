/** Queries with DNS cookies (RFC 7873), and the cookies of answers, in hexadecimal digits. */
import { parseName } from '../../src/dns/name.js';
import { decodeMessage, makeQuery } from './message.js';

const COOKIE = 10;

export function withCookie(cookie: string, name = 'ns.example.com.'): Buffer {
  const data = Buffer.from(cookie, 'hex');
  const option = Buffer.from([0, COOKIE, 0, data.length, ...data]);
  return makeQuery(parseName(name), 1, { edns: 1232, options: option });
}

/** -1 and an empty text without an answer. */
export function heard(answer: Buffer | undefined): [rcode: number, cookie: string] {
  if (!answer) return [-1, ''];
  const { rcode, opt } = decodeMessage(answer);
  for (let at = 0; opt && at < opt.options.length; at += 4 + opt.options.readUInt16BE(at + 2)) {
    const end = at + 4 + opt.options.readUInt16BE(at + 2);
    if (opt.options.readUInt16BE(at) === COOKIE) return [rcode, opt.options.subarray(at + 4, end).toString('hex')];
  }
  return [rcode, ''];
}

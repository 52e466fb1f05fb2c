/** Settings of the S3 API. */
import { z } from 'zod';
import { about } from './setting-about.js';
import { isAddress, port, text, wholeNumber } from './values.js';

const group = 'S3 API';
const FIVE_GIB = 5 * 1024 ** 3;

export const s3Settings = {
  s3: z.enum(['auto', 'on', 'off'], { error: 'expected auto, on or off' }).default('auto').register(about, {
    group,
    value: 'mode',
    summary: 'Whether the S3 API listens: `auto` once a token exists that S3 clients can sign with, `on`, or `off`',
  }),
  s3Host: text().refine(isAddress, { error: 'expected an IP address' }).default('127.0.0.1').register(about, {
    group,
    value: 'address',
    summary: 'Address on which the S3 API listens',
  }),
  s3Port: port().default(8055).register(about, { group, value: 'port', summary: 'Port of the S3 API' }),
  s3TlsPort: port().optional().register(about, {
    group,
    value: 'port',
    summary: 'Port of the S3 API over HTTPS, with the certificate of `tls-cert`',
    defaultText: 'none: plain HTTP only',
  }),
  s3Domain: text()
    .toLowerCase()
    .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, { error: 'expected a host name, such as s3.example.com' })
    .optional()
    .register(about, {
      group,
      value: 'name',
      summary: 'Name below which buckets are hosts, such as `pictures.s3.example.com`',
      defaultText: 'none: buckets are the first part of the path',
    }),
  s3ObjectLimit: wholeNumber(0, FIVE_GIB, 'octets').default(FIVE_GIB).register(about, {
    group,
    value: 'octets',
    summary: 'Largest object, or part of one, in one request to the S3 API, in octets',
  }),
  lifecycleInterval: wholeNumber(1, 86_400, 'seconds').default(3600).register(about, {
    group,
    value: 'seconds',
    summary: 'How often the objects of a bucket with lifecycle rules are looked at, in seconds',
  }),
  s3UnsignedBodies: z.enum(['secure', 'any'], { error: 'expected secure or any' }).default('secure').register(about, {
    group,
    value: 'where',
    summary:
      'Where bodies are accepted that clients have not signed: `secure` over HTTPS, from this machine and behind trusted proxies that have received HTTPS, or over `any` connection',
  }),
};

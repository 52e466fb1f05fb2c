/** Settings of what is observed about questions and answers. */
import { z } from 'zod';
import { about } from './setting-about.js';
import { text, wholeNumber } from './values.js';

const group = 'Observation';

export const observeSettings = {
  dnsStatistics: z.enum(['on', 'off'], { error: 'expected on or off' }).default('on').register(about, {
    group,
    value: 'mode',
    summary: 'Whether questions are counted by zone and some of them shown in the API (`…/activity`)',
  }),
  queryLog: text().optional().register(about, {
    group,
    value: 'file',
    summary: 'File to which a line of JSON is appended for each logged question; opened again on SIGHUP',
    defaultText: 'none',
  }),
  queryLogSample: wholeNumber(1, 1_000_000, 'a number of questions').default(1).register(about, {
    group,
    value: 'questions',
    summary: 'One in this many questions is logged; 1: all',
  }),
  queryLogClients: z
    .enum(['full', 'prefix', 'none'], { error: 'expected full, prefix or none' })
    .default('prefix')
    .register(about, {
      group,
      value: 'detail',
      summary: 'What the query log and the API tell about clients: their address, their network (/24, /56), or nothing',
    }),
  dnstap: text()
    .regex(/^(?:unix|file):./, { error: 'expected unix: and the path of a socket, or file: and the path of a file' })
    .optional()
    .register(about, {
      group,
      value: 'place',
      summary:
        'Where every question and answer is written in dnstap: `unix:` and the path of a socket at which a reader listens, or `file:` and a path',
      defaultText: 'nowhere',
    }),
};

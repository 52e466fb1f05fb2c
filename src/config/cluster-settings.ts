/** Settings of a service on more than one machine. */
import { about } from './setting-about.js';
import { text, wholeNumber } from './values.js';

const group = 'Cluster';

export const clusterSettings = {
  cluster: text()
    .regex(/^postgres(ql)?:\/\//, {
      error: 'expected a PostgreSQL URL, such as postgresql://zoneplane@db.example:5432/zoneplane',
    })
    .optional()
    .register(about, {
      group,
      value: 'url',
      secret: true,
      flag: { hasSecret: (url) => /^[^/]*\/\/[^:@/?#]*:[^@/?#]+@|[?&]password=/.test(url) },
      summary:
        'PostgreSQL URL of the log that all nodes follow; several hosts may be named, separated by commas; no password in a plain flag',
      defaultText: 'none: one machine',
    }),
  nodeName: text()
    .regex(/^[\w.-]{1,63}$/, { error: 'expected at most 63 letters, digits, dots, hyphens and underscores' })
    .optional()
    .register(about, {
      group,
      value: 'name',
      summary: 'Name of this node in the cluster; each has its own',
      defaultText: 'host name of the machine',
    }),
  objects: text()
    .regex(/^s3:\/\/[^/@]+/, { error: 'expected an address on S3, such as s3://bucket/prefix' })
    .optional()
    .register(about, {
      group,
      value: 'url',
      summary:
        'Where bodies of objects are instead of in files: `s3://bucket/prefix`, with `?endpoint=https://host:port&region=name` for another server than Amazon’s; keys come from `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`',
      defaultText: 'files in the data directory',
    }),
  clusterPatience: wholeNumber(1, 600, 'seconds').default(60).register(about, {
    group,
    value: 'seconds',
    summary: 'How long a write waits while PostgreSQL is away, before it is refused with status 503',
  }),
};

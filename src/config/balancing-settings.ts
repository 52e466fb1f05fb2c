/** Settings of load balancing. */
import { about } from './setting-about.js';
import { wholeNumber } from './values.js';

const group = 'Load balancing';

export const balancingSettings = {
  lbMinInterval: wholeNumber(1, 3600, 'seconds').default(5).register(about, {
    group,
    value: 'seconds',
    summary: 'Shortest interval of a monitor, in seconds',
  }),
  lbMaxOrigins: wholeNumber(1, 1000, 'origins').default(200).register(about, {
    group,
    value: 'number',
    summary: 'Most origins of a pool',
  }),
};

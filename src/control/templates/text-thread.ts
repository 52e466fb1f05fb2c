/** Worker thread that reads one text of a template, or writes one; the other end is text-threads.ts. */
import { parentPort, workerData } from 'node:worker_threads';
import { Steps, standBack } from '../../base/process/scheduling.js';
import { parseText, printText } from './text.js';
import type { TextOrder } from './text-threads.js';

const order = workerData as TextOrder;

standBack(Steps.background, 'thread');
parentPort!.postMessage('text' in order ? parseText(order.text) : printText(order.template));

// What is taken of ECharts, and what all charts of the page have in common.
import { BarChart, CustomChart, HeatmapChart, LineChart } from 'echarts/charts';
import { DataZoomComponent, GraphicComponent, GridComponent, MarkLineComponent, TooltipComponent, VisualMapContinuousComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import { onThemeChange, theme } from './theme.js';

use([BarChart, CustomChart, HeatmapChart, LineChart, DataZoomComponent, GraphicComponent, GridComponent, MarkLineComponent, TooltipComponent,
  VisualMapContinuousComponent, CanvasRenderer]);

const narrow = 560;  // px of a chart

/** A chart in `parent`. `optionOf(colours, isNarrow)` gives its option and `height` in px, and is asked again when
 *  either changes, or on redraw(). */
export function chartIn(parent, optionOf) {
  const chart = init(parent, null, { renderer: 'canvas', height: 300 });
  let width = 0;
  const redraw = () => {
    width = parent.clientWidth;
    const { height, ...option } = optionOf(theme(), width < narrow);
    parent.style.height = `${height}px`;
    chart.resize({ width, height });
    chart.setOption({ animation: false, textStyle: { fontFamily: getComputedStyle(document.body).fontFamily }, ...option },
      { notMerge: true });
  };
  new ResizeObserver(() => parent.clientWidth !== width && redraw()).observe(parent);
  onThemeChange(redraw);
  redraw();
  return { chart, redraw };
}

export function axisStyle(colours, options = {}) {
  return {
    axisLine: { show: true, lineStyle: { color: colours.line } },
    axisTick: { show: false },
    axisLabel: { color: colours.muted, fontSize: 12, hideOverlap: true },
    nameTextStyle: { color: colours.muted, fontSize: 12 },
    splitLine: { lineStyle: { color: colours.grid } },
    ...options,
  };
}

export function tooltipStyle(colours) {
  return {
    confine: true, transitionDuration: 0, backgroundColor: colours.panel, borderColor: colours.line, padding: [7, 10],
    textStyle: { color: colours.text, fontSize: 13 }, extraCssText: 'max-width: 92vw; white-space: normal;',
  };
}

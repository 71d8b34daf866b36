// The page, from top to bottom. A part that cannot be drawn must not take the others with it.

const PARTS = [
  drawHead, drawSummary, drawConvergence,
  ...(MANY ? [drawPlane, drawImportance, drawLines, drawParallel, drawPredictions] : [drawPlane, drawLines, drawParallel, drawPredictions, drawImportance]),
  drawLengthScale, drawTimeline, drawMinima, drawTable, drawAgain, drawFoot, drawNavigation, restorePlace, scheduleReload,
];
for (const part of PARTS) {
  try {
    part();
  } catch (error) {
    console.error(error);
    const section = document.querySelector("main > section:last-of-type");
    section?.append(h("p", { class: "empty", text: `This part could not be drawn: ${error}` }));
  }
}

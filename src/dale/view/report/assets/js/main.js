// The page, from top to bottom.

drawHead();
drawSummary();
drawConvergence();
drawPlane();
drawLines();
drawParallel();
drawPredictions();
drawImportance();
drawLengthScale();
drawTimeline();
drawMinima();
drawTable();
drawAgain();
drawFoot();
drawNavigation();
restorePlace();
scheduleReload();
